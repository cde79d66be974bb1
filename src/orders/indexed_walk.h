// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <forebay/order.h>

#include "orders/census.h"

namespace forebay::orders {

/// Says which record comes at which place of a pass, by the record's number among all records of all files. A walk owns
/// it and calls it on the thread that decides the order.
class Route {
 public:
  static constexpr std::int64_t endless = INT64_MAX;
  virtual ~Route() = default;
  virtual void begin(std::int64_t epoch) = 0;
  /// Called once in a pass, when the records of all files are counted. Returns the number of places of the pass. Fails
  /// as Handles::pull does; a failed call is repeated with the same census.
  [[nodiscard]] virtual Result<std::int64_t> plan(const Census& census) = 0;
  /// Writes the numbers of the records at the places from `first` on.
  virtual void numbers(std::int64_t first, std::span<std::uint64_t> out) = 0;
};

/// Makes an order that takes files, and gives their records as `route` says, by the index of each file. The caller owns
/// the order, and one thread at a time calls it. `pull` fails when a file has no usable index and none can be made.
[[nodiscard]] std::unique_ptr<Handles> walk_by_index(std::unique_ptr<Route> route, OrderContext context);

}  // namespace forebay::orders
