// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/take_files.h>
#include <forebay/plugin.h>

#include "orders/bounds.h"

namespace forebay::orders {
namespace {

Result<Ordering> bind(const TakeFiles& options) {
  Ordering out = first_elements(options.count);
  out.grain = Grain::files;
  return out;
}

}  // namespace

OrderType take_files() {
  return describe<OrderType, TakeFiles>("take_files",
                                        "Ends after the first `count` files of a pass. Stands before `interleave`, or "
                                        "any other order that opens files.",
                                        bind)
      .required("count", &TakeFiles::count, "Files to keep.", {.min = 0})
      .example({.options = R"({"count": 2})", .in = R"([[1, 2], [11, 12, 13], [21]])", .out = R"([1, 2, 11, 12, 13])"});
}

}  // namespace forebay::orders
