// SPDX-License-Identifier: Apache-2.0
#include <forebay/combine/zip.h>

#include <algorithm>

#include <forebay/plugin.h>

#include "combine/branch_rules.h"

namespace forebay::combine {
namespace {

Result<Combining> bind_zip(const Zip& options, const BranchList& branches) {
  const bool endless = std::ranges::all_of(branches.repeat, [](bool repeats) { return repeats; });
  if (endless && !branches.repeat.empty())
    return Error{Code::config, Detail::invalid_argument,
                 "every branch repeats, so a pass never ends; leave `repeat` out of a branch"}
        .at(Field{"branches"});
  return Combining{.make = {}, .end = {.when = options.until ? PassEnd::When::first : PassEnd::When::equal}};
}

}  // namespace

CombineType zip() {
  return describe<CombineType, Zip>("zip", "Row i of every branch side by side: a row has the tensors of all branches.",
                                    bind_zip)
      .field("until", &Zip::until, "first: a pass ends with the shortest branch; null: other lengths are an error.")
      .required("branches", &Zip::branches, branches_doc)
      .example({.options = "{}", .in = R"([[1, 2], [10, 20]])", .out = R"([[1, 10], [2, 20]])"})
      .example({.options = R"({"until": "first"})", .in = R"([[1, 2], [10, 20, 30]])", .out = R"([[1, 10], [2, 20]])"});
}

}  // namespace forebay::combine
