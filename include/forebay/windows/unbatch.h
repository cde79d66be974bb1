// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <forebay/field_types.h>

namespace forebay {

/// Makes a row of each frame of a record: tensors of shape [T, …] become T rows of shape […].
struct Unbatch {
  std::vector<TensorName> keys;         ///< Tensors to divide; empty: all whose first size is unknown.
  std::optional<NewTensorName> number;  ///< Name of a column: the number of the window.
  std::optional<NewTensorName> start;   ///< Name of a column: the first frame of the window in its record.
};

}  // namespace forebay
