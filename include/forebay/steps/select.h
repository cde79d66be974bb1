// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/field_types.h>

namespace forebay {

/// Keeps the named tensors and drops the others. A tensor that no step reads and no batch delivers is not decoded.
struct Select {
  std::vector<TensorName> tensors;  ///< Tensors to keep, in their order of delivery.
};

}  // namespace forebay
