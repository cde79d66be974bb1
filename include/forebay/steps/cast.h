// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/dtype.h>
#include <forebay/field_types.h>

namespace forebay {

/// Changes the element type of one tensor. Floats become integers by truncation toward zero. Integers wrap around.
/// Every value but zero becomes true. Floats are rounded to the nearest, ties to even.
struct Cast {
  TensorName tensor;             ///< Tensor to convert. Not of strings.
  DType dtype = DType::float32;  ///< New type. Not string.
};

}  // namespace forebay
