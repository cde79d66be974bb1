// SPDX-License-Identifier: Apache-2.0
#include <forebay/combine/join.h>
#include <forebay/plugin.h>

#include "combine/branch_rules.h"
#include "combine/turns.h"

namespace forebay::combine {
namespace {

Result<Combining> bind_join(const Join& options, const BranchList&) {
  return Combining{.make = Turns::make, .end = {.when = PassEnd::When::all}, .fill = options.fill};
}

}  // namespace

CombineType join() {
  return describe<CombineType, Join>("join", "One row of each branch in turn; a branch that has ended is left out.",
                                     bind_join)
      .field("fill", &Join::fill, fill_doc)
      .required("branches", &Join::branches, branches_doc)
      .example({.options = "{}", .in = R"([[1], [10, 20, 30], [100, 200]])", .out = R"([1, 10, 100, 20, 200, 30])"});
}

}  // namespace forebay::combine
