// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/field_types.h>

namespace forebay {

/// Cuts a rectangular piece out of one tensor; the piece replaces it.
struct Slice {
  TensorName tensor;  ///< Tensor to cut.
  std::string slice;  ///< Python-style, without the batch axis: "[3,:,4:,:-2,1:4]".
};

}  // namespace forebay
