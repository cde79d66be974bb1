// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/field_types.h>

namespace forebay {

/// Makes a tensor whose elements are all 1.
struct Ones {
  NewTensorName tensor;  ///< Name of the new tensor.
  SizesOrTensor shape;   ///< Shape of a row, [2, 3], or a tensor: each row has the shape of that tensor's row.
  DTypeOrTensor dtype;   ///< Element type, or a tensor, for its type. Not string.
};

}  // namespace forebay
