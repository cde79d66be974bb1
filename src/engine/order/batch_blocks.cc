// SPDX-License-Identifier: Apache-2.0
#include "engine/order/batch_blocks.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace forebay::engine {

namespace {

constexpr int max_idle_epochs = 16;  // more than one: files may change from epoch to epoch

Error gives_nothing() {
  return Error{Code::data, Detail::failed_precondition,
               fmt::format("{} epochs one after the other had no batch that an order on batches picks: this run would "
                           "never deliver anything; correct the numbers of the batches",
                           max_idle_epochs)};
}

}  // namespace

BatchBlocks::BatchBlocks(BatchOrdering ordering, const Options& options, Upstream upstream, const Position& start)
    : ordering_{std::move(ordering)}, options_{options}, upstream_{std::move(upstream)}, before_{start} {
  const bool resumed = options_.number < start.blocks.size();
  first_ = resumed ? start.blocks[options_.number].first : 0;
  given_ = resumed ? static_cast<std::size_t>(start.blocks[options_.number].given) : 0;
  epoch_ = start.epoch;
}

Result<bool> BatchBlocks::pull(BatchLayout& layout) {
  while (true) {
    if (!filled_) {
      FOREBAY_TRY(const bool some, fill());
      if (!some) return false;
      pick();
    }
    if (given_ < picks_.size()) {
      std::swap(layout, held_[static_cast<std::size_t>(picks_[given_++])]);
      idle_epochs_ = 0;
      return true;
    }
    if (stopped()) return false;
    filled_ = false;
    first_ += static_cast<std::int64_t>(count_);
    count_ = given_ = 0;
  }
}

/// Fills the block. `given_` of a restart stays.
Result<bool> BatchBlocks::fill() {
  while (count_ < static_cast<std::size_t>(ordering_.block)) {
    if (!has_next_) {
      if (!next_is_open_) before_next_ = upstream_.position();
      next_is_open_ = true;
      FOREBAY_TRY(has_next_, upstream_.pull(next_));
      next_is_open_ = false;
      if (!has_next_) break;
    }
    if (count_ > 0 && !joins(next_)) break;
    if (count_ == 0) FOREBAY_DO(begin_block());
    if (held_.size() == count_) held_.emplace_back();
    held_[count_].clear();
    std::swap(held_[count_++], next_);
    has_next_ = false;
  }
  return count_ > 0;
}

/// The first batch of a block has come.
Result<void> BatchBlocks::begin_block() {
  before_ = before_next_;
  if (!options_.hard_epochs || next_.epoch == epoch_) return {};
  epoch_ = next_.epoch;
  first_ = 0;
  before_ = upstream_.epoch_start(epoch_);
  if (options_.epochs == 0 && ++idle_epochs_ > max_idle_epochs) return gives_nothing();
  return {};
}

/// Whether the next batch may be in the block.
bool BatchBlocks::joins(const BatchLayout& next) const { return !options_.hard_epochs || next.epoch == epoch_; }

/// Whether no later batch of the run is picked.
bool BatchBlocks::stopped() const {
  return ordering_.stop && !options_.hard_epochs && first_ + static_cast<std::int64_t>(count_) >= *ordering_.stop;
}

/// Decides which batches of the block are given. They keep the epochs and the progress of the sequence in which they
/// were cut, so that both only grow.
void BatchBlocks::pick() {
  filled_ = true;
  ended_ = !options_.hard_epochs && upstream_.over() ? options_.epochs : 0;
  picks_.clear();
  ordering_.pick({.seed = options_.seed,
                  .purpose = options_.purpose,
                  .epoch = options_.hard_epochs ? epoch_ : 0,
                  .first = first_,
                  .count = static_cast<std::int64_t>(count_)},
                 picks_);
  std::vector<bool> picked(count_);
  std::vector<std::pair<std::int64_t, double>> of_run;
  std::vector<std::tuple<std::int64_t, double, bool>> of_epoch;
  for (const std::int64_t number : picks_) {
    const BatchLayout& batch = held_[static_cast<std::size_t>(number)];
    picked[static_cast<std::size_t>(number)] = true;
    of_run.emplace_back(batch.epoch, batch.done.of_run);
    of_epoch.emplace_back(batch.epoch, batch.done.of_epoch.value, batch.done.of_epoch.exact);
  }
  std::ranges::sort(of_run);
  std::ranges::sort(of_epoch);
  for (std::size_t i = 0; i < picks_.size(); ++i) {
    BatchLayout& batch = held_[static_cast<std::size_t>(picks_[i])];
    const auto& [epoch, value, exact] = of_epoch[i];
    batch.epoch = epoch;
    batch.done = {.of_run = of_run[i].second, .of_epoch = {.value = value, .exact = exact}};
  }
  given_ = std::min(given_, picks_.size());
  for (std::size_t i = 0; i < given_; ++i) picked[static_cast<std::size_t>(picks_[i])] = false;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!picked[i]) upstream_.drop(held_[i]);
  }
}

Position BatchBlocks::position() const {
  Position out = filled_ || given_ > 0 ? before_ : upstream_.position();
  out.blocks.resize(std::max(out.blocks.size(), options_.number + 1));
  out.blocks[options_.number] = {.first = first_, .given = static_cast<std::int64_t>(given_)};
  out.ended = std::max(out.ended, ended_);
  return out;
}

void BatchBlocks::account(BufferPool& pool) {
  for (BatchLayout& batch : held_) batch.account(pool);
  next_.account(pool);
}

}  // namespace forebay::engine
