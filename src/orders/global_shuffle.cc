// SPDX-License-Identifier: Apache-2.0
#include "orders/global_shuffle.h"

#include <optional>

#include "base/draw.h"
#include "base/permutation.h"
#include "orders/indexed_walk.h"

namespace forebay::orders {
namespace {

std::uint64_t key_of(std::uint64_t seed, std::uint64_t purpose, std::int64_t epoch) {
  return draw_key({.seed = seed, .epoch = static_cast<std::uint64_t>(epoch), .purpose = purpose});
}

/// A keyed permutation of the records' numbers, a new one each pass.
class Permuted final : public Route {
 public:
  Permuted(std::uint64_t seed, std::uint64_t purpose) : seed_{seed}, purpose_{purpose} {}

  void begin(std::int64_t epoch) override { key_ = key_of(seed_, purpose_, epoch); }
  Result<std::int64_t> plan(const Census& census) override {
    permutation_.emplace(static_cast<std::uint64_t>(census.records()), key_);
    return census.records();
  }
  void numbers(std::int64_t first, std::span<std::uint64_t> out) override {
    permutation_->map(static_cast<std::uint64_t>(first), out);
  }

 private:
  const std::uint64_t seed_;
  const std::uint64_t purpose_;
  std::uint64_t key_ = 0;
  std::optional<Permutation> permutation_;
};

}  // namespace

std::unique_ptr<Handles> global_shuffle(OrderContext context) {
  auto route = std::make_unique<Permuted>(context.seed, context.purpose);
  return walk_by_index(std::move(route), std::move(context));
}

std::int64_t place_in_global_shuffle(const PlacingPass& pass, std::int64_t number) {
  const Permutation permutation{static_cast<std::uint64_t>(pass.elements), key_of(pass.seed, pass.purpose, pass.epoch)};
  return static_cast<std::int64_t>(permutation.position(static_cast<std::uint64_t>(number)));
}

}  // namespace forebay::orders
