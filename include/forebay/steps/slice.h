// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace forebay {

/// Cuts a rectangular piece out of one tensor; the piece replaces it.
struct Slice {
  std::string tensor;  ///< Tensor to cut.
  std::string slice;   ///< Python-style, without the batch axis: "[3,:,4:,:-2,1:4]".
};

}  // namespace forebay
