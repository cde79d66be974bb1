// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/element_shard.h"

#include <optional>
#include <utility>
#include <vector>

#include "engine/order/shards/dealt_batches.h"
#include "engine/order/shards/shard_counts.h"

namespace forebay::engine {

namespace {

/// The last order: deals the elements of a pass in rounds, one to each shard, and passes on those of shard `index`.
///
///     upstream ─► round_: one element for each shard ─► the shard's own: out
///                                                  └──► the others: dropped
///
/// The last round of a pass may have too few elements. Every shard sees the same elements and does the same with it, so
/// no element has to be counted before: with `drop` no shard takes one, with `repeat` the elements of the round are
/// dealt again, with `pad` the first shards have one element more.
class Dealt final : public Handles {
 public:
  Dealt(std::int64_t index, std::int64_t count, const Batching& batching, std::shared_ptr<PassBatches> pass,
        OrderContext context)
      : index_{static_cast<std::size_t>(index)},
        count_{static_cast<std::size_t>(count)},
        rows_{rows_of_shard(batching, count)},
        remainder_{batching.remainder},
        pass_{std::move(pass)},
        context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    context_.reader->drop(round_);
    round_.clear();
    *pass_ = {};
    rounds_ = 0;
    ended_ = false;
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    std::size_t dealt = 0;
    while (dealt < out.size() && !ended_) {
      if (auto whole = fill_round(); !whole.ok()) return dealt > 0 ? Result<std::size_t>{dealt} : whole.error();
      if (deal(out[dealt])) ++dealt;
    }
    return dealt;
  }

 private:
  /// Pulls until the round is whole or the pass is over. A failure keeps what the round has.
  Result<void> fill_round() {
    while (round_.size() < count_) {
      const std::size_t had = round_.size();
      round_.resize(count_);
      const auto pulled = context_.upstream->pull(std::span{round_}.subspan(had));
      round_.resize(had + (pulled.ok() ? *pulled : 0));
      if (!pulled.ok()) return pulled.error();
      if (*pulled == 0) return end(), Result<void>{};
    }
    return {};
  }

  void end() {
    ended_ = true;
    const std::int64_t most = rounds_ + (round_.empty() ? 0 : 1);
    *pass_ = {.known = true, .batches = batches_for(most, rows_), .cut = pass_->cut};
  }

  /// Takes the shard's element of the round, and drops the others. Returns false when the shard has none.
  bool deal(Handle& own) {
    std::size_t mine = index_;
    if (remainder_ == Remainder::repeat && !round_.empty()) mine %= round_.size();
    const bool given = mine < round_.size() && (round_.size() == count_ || remainder_ != Remainder::drop);
    const std::span<const Handle> all{round_};
    if (given) own = round_[mine];
    context_.reader->drop(given ? all.first(mine) : all);
    if (given) context_.reader->drop(all.subspan(mine + 1));
    if (!round_.empty()) ++rounds_;
    round_.clear();
    return given;
  }

  const std::size_t index_, count_;
  const std::int64_t rows_;  // of a batch of the shard
  const Remainder remainder_;
  const std::shared_ptr<PassBatches> pass_;
  OrderContext context_;
  std::vector<Handle> round_;
  std::int64_t rounds_ = 0;  // dealt in this pass
  bool ended_ = false;       // the upstream's pass is over
};

}  // namespace

Result<void> check_element_shard(const Program& program, std::int64_t count) {
  return check_own_batches(program, {.count = count, .by = ShardBy::element});
}

std::shared_ptr<const Program> element_shard(const Program& program, std::int64_t index, std::int64_t count) {
  auto out = std::make_shared<Program>(program);
  out->stream = stream_of(program, {.count = count, .by = ShardBy::element});
  out->dealt = count;
  if (program.batching.make_dealt) {
    out->batching.make = [make = program.batching.make_dealt, index, count](const BatcherContext& context) {
      return make(context, index, count);
    };
    return out;
  }
  if (!program.batching.make_sized) {
    out->batching.make = [batching = program.batching, index, count](const BatcherContext& context) {
      return dealt_batches(batching, context, index, count);
    };
    out->batching.batches = [](std::int64_t) -> std::optional<std::int64_t> { return std::nullopt; };
    out->batching.fixed = false;
    return out;
  }
  const auto pass = std::make_shared<PassBatches>();
  out->record_orders.push_back(
      {.make = [index, count, batching = program.batching, pass](OrderContext context) -> std::unique_ptr<Handles> {
         return std::make_unique<Dealt>(index, count, batching, pass, std::move(context));
       },
       .count = [count, drops = program.batching.remainder == Remainder::drop](
                    std::int64_t n) { return std::optional{drops ? n / count : batches_for(n, count)}; }});
  set_own_batches(*out, count, pass);
  return out;
}

}  // namespace forebay::engine
