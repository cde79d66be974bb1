// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/dtype.h>
#include <forebay/field_types.h>

namespace forebay {

/// Changes the element type of one tensor. Floats become integers by truncation toward zero, integers wrap, everything
/// but zero is true, floats round to the nearest (ties to even).
struct Cast {
  TensorName tensor;             ///< Tensor to convert; not a string one.
  DType dtype = DType::float32;  ///< Type it gets; not string.
};

}  // namespace forebay
