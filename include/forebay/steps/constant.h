// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/field_types.h>

namespace forebay {

/// Makes a tensor whose elements are all the same.
struct Constant {
  NewTensorName tensor;  ///< Name of the new tensor.
  SizesOrTensor shape;   ///< Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.
  DTypeOrTensor dtype;   ///< Element type, or the name of a tensor whose type it takes.
  Json value = {};       ///< The element; null: 0, false or "".
};

}  // namespace forebay
