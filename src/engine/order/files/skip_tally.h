// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <forebay/error.h>

#include "engine/program/on_corrupt.h"
#include "engine/program/position.h"
#include "engine/read/block.h"

namespace forebay::engine {

/// Counts the skips of a run and judges them against the budgets of `on_corrupt`.
///
/// A skip is a corrupt record, an unreadable range of bytes, or a file that was given up; each counts as one. The order
/// plane owns the tally, as a member of OpenFiles, and adds skips in the order in which they are read. A restarted run
/// therefore fails at the same place. Not thread-safe.
class SkipTally {
 public:
  explicit SkipTally(const OnCorrupt& allowed) : allowed_{allowed} {}

  void begin_pass() { pass_ = {}; }  ///< Resets the counts of the pass, not those of the run.
  /// Counts good records that were read. Resets the number of consecutive skips, even with 0 records.
  void good(std::int64_t records) {
    pass_.good += records;
    pass_.consecutive = 0;
  }
  /// Counts a skip. Fails with Code::data, and counts nothing, when a budget does not allow it. A skip whose error is
  /// Code::internal, a fault of a plug-in, is never allowed and fails with that error.
  [[nodiscard]] Result<void> add(const Skip& skip);
  [[nodiscard]] Result<void> end_pass() const;  ///< Fails with Code::data when the pass exceeds `max_fraction`.

  /// What was counted of the pass so far.
  [[nodiscard]] const PassSkips& pass() const { return pass_; }
  void go_on(const PassSkips& pass) { pass_ = pass; }  ///< Goes on with a pass of which so much was counted.

  using Counts = SkipCounts;
  [[nodiscard]] const Counts& counts() const { return counts_; }  ///< Counts of the whole run.

 private:
  [[nodiscard]] bool too_many(std::int64_t skips) const;  // more than `max_fraction` of the pass

  const OnCorrupt allowed_;
  PassSkips pass_;
  Counts counts_;
};

}  // namespace forebay::engine
