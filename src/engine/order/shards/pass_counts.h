// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/index/index_store.h"
#include "engine/order/branches/turns.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// The limits of a count.
struct CountLimits {
  std::size_t max_files = 1000;  ///< Of more files nothing is read: before a run that would delay its first batch.
  std::int64_t max_turns = std::int64_t{1} << 22;  ///< Rows of combinations that are gone through, one by one: 20 ms.
  std::shared_ptr<IndexStores> stores = std::make_shared<IndexStores>();
};

/// Whether a combination is gone through several times in a pass, so that the passes of its branches are more than
/// those of the run: a pass cannot be begun without those before it.
[[nodiscard]] bool repeats_branches(const Program& program);

/// Whether the indexes and attributes of all files would tell how many rows each pass of the program has.
[[nodiscard]] bool counted_by_index(const Program& program);

/// The number of rows of each pass of a program, from what is stored about its files: those that its orders give to
/// its batcher, or as a branch to a combination. Reads the stored indexes when it is made.
class PassCounts {
 public:
  /// For a program that is `counted_by_index`, and outlives this object.
  PassCounts(const Program& program, const CountLimits& limits);
  ~PassCounts();

  /// The rows of the next pass. Empty when they are not known, for example when a file has no stored index.
  [[nodiscard]] std::optional<std::int64_t> next();
  /// All passes have as many rows.
  [[nodiscard]] bool alike() const;
  /// Where the branches of the program stand when the next pass begins; empty for a program without branches.
  [[nodiscard]] std::vector<BranchCursor> cursors() const;

 private:
  /// A branch, as BranchStream goes through it.
  struct Branch;

  [[nodiscard]] std::optional<std::int64_t> given();  // to the orders after the source
  [[nodiscard]] std::optional<std::int64_t> of_turns();
  [[nodiscard]] bool take_turns();
  [[nodiscard]] std::int64_t pass_over();
  [[nodiscard]] std::optional<std::int64_t> side_by_side();

  const Program& program_;
  std::optional<std::int64_t> rows_;  // of each pass, of a program with a source of its own
  std::unique_ptr<PassCounts> made_;  // of the program that makes the rows
  std::vector<std::unique_ptr<Branch>> branches_;
  std::optional<Turns> turns_;  // empty: no branches, or side by side
  std::int64_t pass_ = 0;
  std::int64_t turns_left_;
  std::vector<std::int64_t> left_, given_;  // of the branches, for `pass_over`
  bool cut_ = false;  // an order has ended a pass of the turns early, and so decided where the next one begins
};

/// The number of elements of each epoch of a branch, as far as PassCounts tells. Nothing is read before the first call.
class EpochRows {
 public:
  explicit EpochRows(const Program& branch) : branch_{branch} {}  ///< `branch` must outlive this object.

  /// The elements of epoch `epoch`. No call asks for an earlier epoch than the one before.
  [[nodiscard]] std::optional<std::int64_t> of(std::int64_t epoch);
  /// All epochs have as many. After a call of `of`.
  [[nodiscard]] bool alike() const { return counts_ && counts_->alike(); }

 private:
  const Program& branch_;
  std::optional<PassCounts> counts_;
  std::optional<std::int64_t> rows_;  // of epoch `known_` - 1
  std::int64_t known_ = 0;
  bool countable_ = true;
};

}  // namespace forebay::engine
