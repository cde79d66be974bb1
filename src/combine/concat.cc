// SPDX-License-Identifier: Apache-2.0
// Read this first if you write a combination: it is the smallest complete one.
#include <forebay/combine/concat.h>
#include <forebay/plugin.h>

#include <algorithm>

#include "combine/branch_rules.h"

namespace forebay::combine {
namespace {

/// Names the first branch that is open. The engine owns it; one thread at a time calls it.
class OneAfterTheOther final : public Combiner {
 public:
  void begin(std::int64_t) override { first_ = 0; }
  std::size_t next(const std::vector<bool>& open) override {
    while (!open[first_]) ++first_;
    return first_;
  }
  std::int64_t pass_over(std::int64_t n, const std::vector<bool>& open, std::span<const std::int64_t> left,
                         std::span<std::int64_t> counts) override {
    while (!open[first_]) ++first_;
    counts[first_] = std::min(n, left[first_]);
    return counts[first_];
  }

 private:
  std::size_t first_ = 0;
};

Result<Combining> bind_concat(const Concat& options, const BranchList& branches) {
  if (std::ranges::count(branches.repeat, true) > 0)
    return Error{Code::config, Detail::invalid_argument,
                 "a branch of `concat` is read once a pass; leave `repeat` out, or set the document's `epochs`"}
        .at(Field{"branches"});
  return Combining{
      .make = [](const CombineContext&) -> std::unique_ptr<Combiner> { return std::make_unique<OneAfterTheOther>(); },
      .end = {.when = PassEnd::When::all},
      .fill = options.fill};
}

}  // namespace

CombineType concat() {
  return describe<CombineType, Concat>("concat", "One branch after the other, each to its end.", bind_concat)
      .field("fill", &Concat::fill, fill_doc)
      .required("branches", &Concat::branches, "A list of {source, decode, steps, on_corrupt}.")
      .example({.options = "{}", .in = R"([[1, 2, 3], [10, 20]])", .out = R"([1, 2, 3, 10, 20])"});
}

}  // namespace forebay::combine
