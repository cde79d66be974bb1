// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <forebay/order.h>

#include "engine/blocks/batch_layout.h"
#include "engine/program/position.h"

namespace forebay::engine {

/// One order on batches (BatchOrdering): fills a block with cut batches, and gives those that are picked.
///
///     upstream ─► held_ (a block) ─► pick ─► picks_ ─► pull gives held_[picks_[0]], held_[picks_[1]], …
///                                    └─► the others: dropped
///
/// A block ends early at the end of an epoch, when epochs are hard, and at the end of the run. The batch after the end
/// of an epoch waits in `next_`.
///
/// Owned by OrderPlane; one thread at a time calls it. `pull` fails when the upstream does, also with Code::cancelled,
/// and may be repeated: it then goes on with the same block.
class BatchBlocks {
 public:
  /// What a block takes its batches from.
  struct Upstream {
    std::function<Result<bool>(BatchLayout&)> pull;  ///< The next batch; false at the end of the run.
    std::function<Position()> position;              ///< Where a run stands that continues with the next batch.
    std::function<Position(std::int64_t epoch)> epoch_start;  ///< Hard epochs: where an epoch begins.
    std::function<bool()> over;                               ///< Whether the end of the run was reached.
    std::function<void(BatchLayout&)> drop;                   ///< Drops a batch that is not made.
  };
  struct Options {
    std::uint64_t seed = 0;
    std::uint64_t purpose = 0;
    std::size_t number = 0;   ///< Of the order, among those on batches.
    std::int64_t epochs = 0;  ///< Of the run; 0: endless.
    bool hard_epochs = false;
  };
  BatchBlocks(BatchOrdering ordering, const Options& options, Upstream upstream, const Position& start);

  /// Gives the next batch. `layout` is empty at first. Returns false at the end of the run.
  [[nodiscard]] Result<bool> pull(BatchLayout& layout);
  /// Where a run stands that continues with the next batch of `pull`.
  [[nodiscard]] Position position() const;
  /// Charges the rows that are held to the memory budget.
  void account(BufferPool& pool);

 private:
  [[nodiscard]] Result<bool> fill();  // false: nothing came
  [[nodiscard]] Result<void> begin_block();
  void pick();
  [[nodiscard]] bool joins(const BatchLayout& next) const;
  [[nodiscard]] bool stopped() const;

  const BatchOrdering ordering_;
  const Options options_;
  const Upstream upstream_;
  std::vector<BatchLayout> held_;  // the first `count_` are the block
  std::size_t count_ = 0;
  std::vector<std::int64_t> picks_;
  std::size_t given_ = 0;   // of picks_
  bool filled_ = false;     // the block is whole, and picks_ are made
  Position before_;         // of the upstream, at the beginning of the block
  std::int64_t first_;      // number of the block's first batch
  std::int64_t epoch_ = 0;  // of the block
  BatchLayout next_;        // the first batch of the next block, or a batch that is being cut
  bool has_next_ = false;
  bool next_is_open_ = false;  // `next_` is being cut: `before_next_` is set
  Position before_next_;       // of the upstream, before `next_`
  std::int64_t ended_ = 0;     // Position::ended of the block
  int idle_epochs_ = 0;        // consecutive epochs without a picked batch
};

}  // namespace forebay::engine
