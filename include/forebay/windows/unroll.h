// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/field_types.h>

namespace forebay {

/// Cuts each sequence into segments of `num_unroll` frames, one after the other. The last one is padded at its end,
/// unless windows are cut of the segments: these get the frames of the sequence.
///
///     a sequence of 5 frames, num_unroll 2:   0 1 │ 2 3 │ 4 ·
///
/// All keys of a sequence have the same length, and at least one frame: else the run fails with Code::data.
struct Unroll {
  std::int64_t num_unroll = 1;          ///< Frames of a segment.
  std::vector<TensorName> keys;         ///< Tensors to cut; empty: all whose first size is unknown.
  std::optional<bool> pad;              ///< Whether the last segment is padded; empty: unless windows are cut of it.
  std::optional<NewTensorName> number;  ///< Name of a column: the number of the segment.
  std::optional<NewTensorName> start;   ///< Name of a column: the first frame of the segment.
};

}  // namespace forebay
