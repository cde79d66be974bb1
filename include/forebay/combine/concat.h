// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/combine.h>

namespace forebay {

/// One branch after the other, each to its end.
struct Concat {
  std::vector<std::pair<std::string, Scalar>> fill = {};  ///< By tensor: the value where a branch lacks it.
  Branches branches;                                      ///< At least one; none with `repeat`.
};

}  // namespace forebay
