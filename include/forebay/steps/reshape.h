// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forebay/field_types.h>

namespace forebay {

/// Gives one tensor another shape with as many elements, in the same order.
struct Reshape {
  TensorName tensor;                ///< Tensor to reshape.
  std::vector<std::int64_t> shape;  ///< New shape, without the batch axis. Every dim is positive.
};

}  // namespace forebay
