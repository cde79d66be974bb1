// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace forebay {

/// A pass of an order whose elements are known by number.
struct PlacingPass {
  std::uint64_t seed = 0, purpose = 0;  ///< As OrderContext.
  std::int64_t epoch = 0;
  std::int64_t elements = 0;
};

/// The place in a pass of element `number`, both from 0. By it a cache on a local disk knows what is read again soon.
using Placing = std::function<std::int64_t(const PlacingPass& pass, std::int64_t number)>;

}  // namespace forebay
