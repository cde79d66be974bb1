// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <forebay/orders/sequence_order.h>

#include "orders/indexed_walk.h"
#include "orders/sequences/mode.h"
#include "orders/sequences/tags.h"

namespace forebay::orders {

/// The options of an order of sequences as they were bound. Immutable.
struct SequencePlan {
  SequenceOrder options;
  Mode mode;                               ///< With the numbers of the options.
  std::vector<Mode> first_modes;           ///< Of the first passes.
  std::optional<std::size_t> length = {};  ///< Numbers among Ordering::attributes.
  std::optional<std::size_t> listed = {};
  std::optional<std::size_t> hash = {};  ///< The first half; the second one is the next attribute.
};

/// Makes the route of a sequence order. The caller owns it; `context.reader` must outlive it.
[[nodiscard]] std::unique_ptr<Route> sequence_route(std::shared_ptr<const SequencePlan> plan,
                                                    const OrderContext& context);

}  // namespace forebay::orders
