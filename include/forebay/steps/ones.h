// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/field_types.h>

namespace forebay {

/// Makes a tensor whose elements are all 1.
struct Ones {
  NewTensorName tensor;  ///< Name of the new tensor.
  SizesOrTensor shape;   ///< Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.
  DTypeOrTensor dtype;   ///< Element type, or the name of a tensor whose type it takes; not string.
};

}  // namespace forebay
