// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/field_types.h>

namespace forebay {

/// Keeps some tensors and forgets the others; what nobody needs is not decoded.
struct Select {
  std::vector<TensorName> tensors;  ///< Tensors to keep, in the order they are to have.
};

}  // namespace forebay
