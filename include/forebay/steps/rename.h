// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/field_types.h>

namespace forebay {

/// Gives one tensor another name.
struct Rename {
  TensorName from;   ///< Tensor to rename.
  NewTensorName to;  ///< New name. No other tensor may have it.
};

}  // namespace forebay
