// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <forebay/error.h>

#include "engine/block.h"
#include "engine/on_corrupt.h"

namespace forebay::engine {

/// What was skipped, and whether that is still within the budgets. Counted in the order in which the order plane comes
/// by, so that it is part of the stream and of its restart.
class SkipTally {
 public:
  explicit SkipTally(const OnCorrupt& allowed) : allowed_{allowed} {}

  void begin_pass() { pass_skips_ = pass_records_ = consecutive_ = 0; }
  void good(std::int64_t records) {
    pass_records_ += records;
    consecutive_ = 0;
  }
  /// Fails, and counts nothing, when that is one too many or not the data's fault.
  [[nodiscard]] Result<void> add(const Skip& skip);
  [[nodiscard]] Result<void> end_pass() const;  ///< Fails when too large a part of the pass was skipped.

  struct Counts {
    std::int64_t records = 0;  ///< Damaged or malformed ones.
    std::int64_t ranges = 0;   ///< Stretches of bytes in which no record could be found.
    std::int64_t files = 0;    ///< Given up at their first damage.
    std::int64_t bytes = 0;
    std::vector<Error> first;  ///< Where and why, the first of them.
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }  ///< Of the whole run.

 private:
  const OnCorrupt allowed_;
  std::int64_t pass_skips_ = 0;
  std::int64_t pass_records_ = 0;
  std::int64_t consecutive_ = 0;
  Counts counts_;
};

}  // namespace forebay::engine
