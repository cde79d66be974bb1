// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <forebay/combine.h>

/// What combinations ask of their branches.
namespace forebay::combine {

// The sentences of options that several combinations have.
inline constexpr const char* until_doc =
    "When a pass ends: \"first\" when the first branch without `repeat` has no row left for its turn; \"all\" "
    "when every branch has come to the end of an epoch, where branches without `repeat` are left out; or after "
    "a number of rows.";
inline constexpr const char* fill_doc = "By tensor: the value where a branch lacks it.";
inline constexpr const char* branches_doc = "A list of {source, decode, steps, repeat, on_corrupt}.";

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
