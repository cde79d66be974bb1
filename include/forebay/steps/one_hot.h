// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <forebay/dtype.h>
#include <forebay/field_types.h>

namespace forebay {

/// Turns each index into a vector that is 1 at the index and 0 elsewhere. For an index out of range it is 0 everywhere.
struct OneHot {
  TensorName tensor;             ///< Tensor of indices, int32 or int64.
  std::int64_t depth = 0;        ///< Length of the vectors: a new last axis.
  DType dtype = DType::float32;  ///< Type of the result, an integer or float.
};

}  // namespace forebay
