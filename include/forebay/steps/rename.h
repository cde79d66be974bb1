// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace forebay {

/// Gives one tensor another name.
struct Rename {
  std::string from;  ///< Tensor to rename.
  std::string to;    ///< Its new name, which no other tensor has.
};

}  // namespace forebay
