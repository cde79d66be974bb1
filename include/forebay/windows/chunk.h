// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/field_types.h>
#include <forebay/windows/by_key.h>

namespace forebay {

/// Which rule decides about short chunks, and about keys that differ in length.
enum class ChunkRule : std::uint8_t {
  forebay,       ///< A chunk of at least `min_size` is kept, and the first one of a sequence always.
  returnn,       ///< RETURNN's data sets: a rest of exactly `min_size` is dropped.
  returnn_pipe,  ///< RETURNN's data pipe: no first chunk below `min_size`, and every key is chunked.
};

/// Cuts sequences into chunks of one size, every `step` frames.
struct Chunk {
  std::vector<TensorName> keys;        ///< Tensors to cut; empty: all whose first size is unknown.
  FramesByKey size = std::int64_t{1};  ///< Frames of a chunk.
  std::optional<FramesByKey> step;  ///< Frames from chunk to chunk; left out: `size`. 0: each chunk gets the whole key.
  std::optional<FramesByKey> min_size;  ///< A tail with fewer frames is dropped.
  bool drop_short = false;         ///< Drops a sequence that is shorter than `min_size`, instead of keeping it whole.
  bool drop_covered_tail = false;  ///< Drops chunks all of whose frames the chunk before has, too.
  ChunkRule rule = ChunkRule::forebay;
  /// Sizes and steps of a sequence are those times 1 - u * variance, at least 1, with one u from 0 to 1 for all its
  /// keys.
  double variance = 0;
  std::optional<NewTensorName> number;  ///< Name of a column: the number of the window.
  std::optional<NewTensorName> start;   ///< Name of a column: the first frame of the window in its record.
};

}  // namespace forebay
