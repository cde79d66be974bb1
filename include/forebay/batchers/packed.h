// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/batchers/batch.h>
#include <forebay/field_types.h>

namespace forebay {

/// Which of the rows that have room for a sequence gets it.
enum class PackFit : std::uint8_t {
  first,  ///< The first one.
  best,   ///< The one that has the least room.
};

/// What becomes of a sequence that is longer than a row.
enum class PackLonger : std::uint8_t {
  fail,   ///< The run ends with an error that names the record.
  drop,   ///< It is left out.
  split,  ///< It is divided into pieces that fill rows, and a rest; each is a segment of its own.
};

/// What becomes of a last batch that has fewer rows.
enum class PackRest : std::uint8_t {
  keep,  ///< It is delivered short.
  drop,  ///< It is left out.
  pad,   ///< It is filled up with empty rows.
};

/// Batches whose rows have one length and hold several sequences each. A sequence goes into a row of the open batch
/// that has room for it, else into a new row; when the batch has all its rows, it is given, and the next one begins.
///
///     lengths 3 4 2 1, length 6, rows 2, fit first:     a a a c c d
///                                                       b b b b . .
struct Packed {
  std::vector<TensorName> keys;              ///< Tensors to pack, equally long; empty: all of unknown first size.
  std::int64_t length = 1;                   ///< Frames of a row.
  std::int64_t rows = 1;                     ///< Rows of a batch.
  PackFit fit = PackFit::first;              ///< Which row gets a sequence.
  std::int64_t gap = 0;                      ///< Frames of padding between two sequences of a row at least.
  std::int64_t align = 1;                    ///< Sequences begin at multiples of this frame number.
  PackLonger longer = PackLonger::fail;      ///< Handling of sequences that are longer than a row.
  PackRest remainder = PackRest::keep;       ///< Handling of a last batch that has fewer rows.
  std::optional<NewTensorName> segment_ids;  ///< Name of a tensor: for each frame its segment, from 1; 0: padding.
  std::optional<NewTensorName> positions;    ///< Name of a tensor: for each frame its place in its segment.
  std::optional<NewTensorName> cu_seqlens;   ///< Name of a tensor: where the segments of a row begin and end.
  bool seq_idx = false;                      ///< Number the sequences of each pass.
  bool epoch_end = false;                    ///< End each epoch with an empty row.
  Pad pad = true;                            ///< true, or values to pad with.
};

}  // namespace forebay
