// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <forebay/order.h>

namespace forebay::orders {

/// The order of `shuffle` with `global`: a permutation of all records of all files, a new one each pass. Like every
/// order it runs on one thread at a time.
[[nodiscard]] std::unique_ptr<Handles> global_shuffle(OrderContext context);

}  // namespace forebay::orders
