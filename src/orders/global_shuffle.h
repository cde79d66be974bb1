// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <forebay/order.h>

namespace forebay::orders {

/// Makes the order of `shuffle` with `global`: a permutation of all records of all files, a new one each pass. The
/// caller owns the order. One thread at a time calls the order. `pull` fails when a file has no usable index and none
/// can be made.
[[nodiscard]] std::unique_ptr<Handles> global_shuffle(OrderContext context);
/// Ordering::place of it.
[[nodiscard]] std::int64_t place_in_global_shuffle(const PlacingPass& pass, std::int64_t number);

}  // namespace forebay::orders
