// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/combine.h>

namespace forebay {

/// One row of each branch in turn; a branch that has ended is left out.
struct Join {
  std::vector<std::pair<std::string, Scalar>> fill = {};  ///< By tensor: the value where a branch lacks it.
  Branches branches;                                      ///< At least one.
};

}  // namespace forebay
