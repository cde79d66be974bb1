// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <forebay/field_types.h>

namespace forebay {

/// Shifts and scales one tensor along an axis to mean 0 and standard deviation 1: (x - mean) / (std + 1e-8) with
/// std = sqrt(variance + 1e-8) of the population. Integers become float32.
struct Normalize {
  TensorName tensor;      ///< Tensor to normalize; not a string one.
  std::int64_t axis = 0;  ///< Axis of the statistics, without the batch axis. -1 is the last axis.
};

}  // namespace forebay
