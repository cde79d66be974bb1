// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/order.h>

namespace forebay::orders {

/// Passes on the first `count` elements of a pass, rows or files.
[[nodiscard]] Ordering first_elements(std::int64_t count);
/// Passes on all elements of a pass but the first `count`, rows or files.
[[nodiscard]] Ordering all_but_first(std::int64_t count);

}  // namespace forebay::orders
