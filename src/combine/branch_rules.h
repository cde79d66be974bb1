// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <forebay/combine.h>

/// What combinations ask of their branches.
namespace forebay::combine {

/// Fails with Code::config when a pass that ends so would never end.
[[nodiscard]] inline Result<void> check_end(const PassEnd& end, const BranchList& branches) {
  const bool endless = std::ranges::all_of(branches.repeat, [](bool repeats) { return repeats; });
  if (end.when != PassEnd::When::first || !endless || branches.repeat.empty()) return {};
  return Error{Code::config, Detail::invalid_argument,
               "every branch repeats, so none is the first to end; set `until` to \"all\" or to a number of rows, or "
               "leave `repeat` out of a branch"}
      .at(Field{"until"});
}

}  // namespace forebay::combine
