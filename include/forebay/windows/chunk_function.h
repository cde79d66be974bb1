// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <forebay/field_types.h>

namespace forebay {

/// Cuts sequences where a function of the program says.
///
///     question   epoch, number of the file, number of the record in it, frames of the record
///     answer     first frame and end of one chunk after the other: [0, 10, 5, 15] is two chunks of 10 frames
///
/// All keys of a sequence have the same length. Chunks may overlap, leave gaps, and come in any order; none is empty.
struct ChunkFunction {
  std::string bind;                     ///< Name of the function that the program binds.
  std::vector<TensorName> keys;         ///< Tensors to cut; empty: all whose first size is unknown.
  std::optional<NewTensorName> number;  ///< Name of a column: the number of the window.
  std::optional<NewTensorName> start;   ///< Name of a column: the first frame of the window in its record.
};

}  // namespace forebay
