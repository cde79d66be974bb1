// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>

#include <forebay/order.h>

#include "engine/order/files/open_files.h"
#include "engine/order/shards/pass_counts.h"
#include "engine/program/position.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// The elements of one branch of a combination, after the orders of the branch, epoch after epoch.
///
///     start at a cursor ─► elements before it are dropped, none is decoded ─► next ─► next ─► … ─► ended
///          ▲                                                                                          │
///          └────────────────────────────────── next_epoch ◄───────────────────────────────────────────┘
///
/// Owned by Combination, which calls it on the thread that decides the order. A failed or interrupted call changes
/// nothing and may be repeated.
class BranchStream {
 public:
  /// `branch` and `files` must outlive this object. Nothing is read before the first `more`.
  BranchStream(const Program& branch, OpenFiles& files, const BranchCursor& start);

  /// Whether another element was pulled already: then `more` says true.
  [[nodiscard]] bool ahead() const { return next_ < filled_; }
  /// Whether the epoch has another element, which `take` gives. Fails with Code::state when it has fewer elements than
  /// the cursor says.
  [[nodiscard]] Result<bool> more() {
    if (ahead()) return true;
    return ended_ ? Result<bool>{false} : fill();
  }
  [[nodiscard]] Handle take() {
    ++taken_;
    return ahead_[next_++];
  }
  /// Whether the element that `take` gave last is the end of a batch; false where the branch marks none.
  [[nodiscard]] bool ended_batch() const { return ends_[next_ - 1]; }
  /// The elements that it can pass over: those left of the epoch, or with `goes_round` any number. Empty when no index
  /// tells how many there are.
  [[nodiscard]] std::optional<std::int64_t> left(bool goes_round);
  /// Passes over `n` of these. Nothing is read before the next `more`.
  void pass_over(std::int64_t n);
  void next_epoch();  ///< Drops the rest of the epoch; begins the next one with the next `more`.

  [[nodiscard]] bool ended() const { return ended_; }          ///< `more` has found the end of the epoch.
  [[nodiscard]] bool fresh() const { return taken_ == 0; }     ///< No element of the epoch was taken.
  [[nodiscard]] std::int64_t taken() const { return taken_; }  ///< Elements of the epoch.
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  /// Where the next pass of the combination begins.
  [[nodiscard]] BranchCursor cursor() const {
    return ended_ ? BranchCursor{.epoch = epoch_ + 1} : BranchCursor{.epoch = epoch_, .taken = taken_};
  }
  [[nodiscard]] double done() const;  ///< The part of the epoch that was read: 0 … 1.

 private:
  Result<bool> fill();
  Result<bool> check_slots();
  Result<void> drop_taken();

  const Program& branch_;
  OpenFiles& files_;
  const std::unique_ptr<Handles> chain_;
  EpochRows epoch_rows_;
  std::int64_t epoch_;
  std::int64_t taken_;
  std::int64_t to_drop_;  // elements before the cursor that are still to be dropped
  bool begun_ = false;    // the chain is in `epoch_`
  bool ended_ = false;
  bool full_ = false;  // more blocks are open than a handle can name
  std::array<Handle, 64> ahead_;
  std::bitset<64> ends_;  // those of them that end a batch
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace forebay::engine
