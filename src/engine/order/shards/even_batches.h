// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <forebay/batcher.h>

#include "engine/order/shards/shard_passes.h"

namespace forebay::engine {

/// How the passes of all shards get as many batches.
struct EvenPasses {
  std::size_t shard = 0;               ///< The number of this one.
  bool pads = false;                   ///< Batches without rows follow those of a short pass; else longer ones are cut.
  std::int64_t rows = 0;               ///< Rows of such a batch, of batches of whole elements.
  std::int64_t begun_rows = 0;         ///< The same of batches of spans.
  std::optional<std::int64_t> epochs;  ///< Of the run; empty: for ever.
};

/// A batcher that cuts as many batches from each pass as those of the other shards, which `passes` counts. In hard
/// epochs, whose Batching::asks is the function of `passes`. Fails with Code::data when this shard has another number
/// of batches than was counted.
[[nodiscard]] std::unique_ptr<Batcher> even_batches(std::unique_ptr<Batcher> batcher, const BatcherContext& context,
                                                    EvenPasses even, std::shared_ptr<ShardPasses> passes);

}  // namespace forebay::engine
