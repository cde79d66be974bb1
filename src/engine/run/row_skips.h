// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "engine/order/files/skip_tally.h"
#include "engine/program/position.h"
#include "engine/tickets/finish/batch_content.h"

namespace forebay::engine {

/// Judges the rows that skip_row took out of batches against the budgets of `on_corrupt`, in the order of delivery. The
/// counts are those of this process, whose rows alone it sees. A position holds the counts of its pass, so a restarted
/// run judges as an unbroken one does.
///
/// Owned by the Scheduler and guarded by its mutex.
class RowSkips {
 public:
  RowSkips(const OnCorrupt& allowed, const Position& start);

  /// Counts the rows of the batch that is delivered next, and writes the counts into its position. Fails with
  /// Code::data when a budget does not allow its skips; the batch must not be delivered then.
  [[nodiscard]] Result<void> judge(Batch::Content& content);
  /// Called at the end of the run.
  [[nodiscard]] Result<void> end() const { return on_ ? tally_.end_pass() : Result<void>{}; }
  [[nodiscard]] const SkipTally::Counts& counts() const { return tally_.counts(); }

 private:
  const bool on_;  // the policy is skip_row
  SkipTally tally_;
  std::int64_t epoch_;
};

}  // namespace forebay::engine
