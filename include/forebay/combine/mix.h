// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/combine/until.h>

namespace forebay {

/// Draws the branch of every row at random. A pass ends as `until` says; the next one goes on where each branch is.
struct Mix {
  std::vector<double> weights = {};                       ///< One for each branch, larger than 0; empty: equal.
  Until until = {};                                       ///< When a pass ends.
  std::vector<std::pair<std::string, Scalar>> fill = {};  ///< By tensor: the value where a branch lacks it.
  Branches branches;                                      ///< At least one.
};

}  // namespace forebay
