// SPDX-License-Identifier: Apache-2.0
#include <forebay/combine/round_robin.h>
#include <forebay/plugin.h>

#include "combine/branch_rules.h"
#include "combine/turns.h"

namespace forebay::combine {
namespace {

Result<Combining> bind_round_robin(const RoundRobin& options, const BranchList& branches) {
  FOREBAY_DO(check_end(options.until, branches));
  return Combining{.make = Turns::make, .end = options.until, .fill = options.fill};
}

}  // namespace

CombineType round_robin() {
  CombineType out =
      describe<CombineType, RoundRobin>("round_robin",
                                        "One row of each branch in turn. Branches go on across passes, where they are.",
                                        bind_round_robin)
          .field("until", &RoundRobin::until, until_doc)
          .field("fill", &RoundRobin::fill, fill_doc)
          .required("branches", &RoundRobin::branches, branches_doc)
          .example({.options = "{}", .in = R"([[1, 2, 3], [10, 20]])", .out = R"([1, 10, 2, 20, 3])"})
          .example({.options = R"({"until": "all"})", .in = R"([[1, 2, 3], [10]])", .out = R"([1, 10, 2, 3])"})
          .example({.options = R"({"until": 2})", .in = R"([[1, 2, 3], [10, 20]])", .out = R"([1, 10])"});
  out.may_change = {"until"};
  return out;
}

}  // namespace forebay::combine
