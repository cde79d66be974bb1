// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/shuffle_batches.h>
#include <forebay/plugin.h>

#include "base/draw.h"
#include "base/permutation.h"

namespace forebay::orders {
namespace {

/// A permutation of the block that depends on the place of the block alone.
void pick_shuffled(const BatchBlock& block, std::vector<std::int64_t>& out) {
  const std::uint64_t key =
      draw_key({.seed = block.seed, .epoch = static_cast<std::uint64_t>(block.epoch), .purpose = block.purpose});
  const Permutation permutation{static_cast<std::uint64_t>(block.count),
                                draw_at(key, static_cast<std::uint64_t>(block.first))};
  for (std::uint64_t i = 0; i < permutation.size(); ++i) out.push_back(static_cast<std::int64_t>(permutation(i)));
}

Result<Ordering> bind(const ShuffleBatches& options) {
  return Ordering{
      .make = {}, .grain = Grain::batches, .batches = BatchOrdering{.block = options.buffer, .pick = pick_shuffled}};
}

}  // namespace

OrderType shuffle_batches() {
  return describe<OrderType, ShuffleBatches>(
             "shuffle_batches", "Puts blocks of batches into a random order; rows stay in their batches.", bind)
      .required("buffer", &ShuffleBatches::buffer,
                "Batches of a block: so many are cut, shuffled and delivered before the next block. 1 keeps the order.",
                {.min = 1, .max = 1'000'000})
      .example({.options = R"({"buffer": 1})", .in = R"([1, 2, 3])", .out = R"([1, 2, 3])"});
}

}  // namespace forebay::orders
