// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/skip_files.h>
#include <forebay/plugin.h>

#include "orders/bounds.h"

namespace forebay::orders {
namespace {

Result<Ordering> bind(const SkipFiles& options) {
  Ordering out = all_but_first(options.count);
  out.grain = Grain::files;
  return out;
}

}  // namespace

OrderType skip_files() {
  return describe<OrderType, SkipFiles>("skip_files",
                                        "Leaves out the first `count` files of a pass. Stands before `interleave`, or "
                                        "any other order that opens files.",
                                        bind)
      .required("count", &SkipFiles::count, "Files to leave out.", {.min = 0})
      .example({.options = R"({"count": 2})", .in = R"([[1, 2], [11, 12, 13], [21]])", .out = R"([21])"});
}

}  // namespace forebay::orders
