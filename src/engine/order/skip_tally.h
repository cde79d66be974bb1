// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <forebay/error.h>

#include "engine/program/on_corrupt.h"
#include "engine/read/block.h"

namespace forebay::engine {

/// Counts the skips of a run and judges them against the budgets of `on_corrupt`.
///
/// A skip is a corrupt record, an unreadable range of bytes, or a file that was given up; each counts as one. The order
/// plane owns the tally and adds skips in the order in which it reads past them, so the verdict is part of the stream
/// and a restarted run comes to the same one. Not thread-safe.
class SkipTally {
 public:
  explicit SkipTally(const OnCorrupt& allowed) : allowed_{allowed} {}

  void begin_pass() { pass_ = {}; }
  /// So many good records were read; ends a row of consecutive skips.
  void good(std::int64_t records) {
    pass_.good += records;
    pass_.consecutive = 0;
  }
  /// Counts a skip. Fails, and counts nothing, when a budget does not allow it, or when its error is Code::internal: a
  /// fault of a plug-in is never skipped.
  [[nodiscard]] Result<void> add(const Skip& skip);
  [[nodiscard]] Result<void> end_pass() const;  ///< Fails when the pass exceeds `max_fraction`.

  struct Counts {
    std::int64_t records = 0;  ///< Corrupt or malformed ones.
    std::int64_t ranges = 0;   ///< Ranges of bytes in which no record could be found.
    std::int64_t files = 0;    ///< Given up at their first corruption, or not readable at all.
    std::int64_t bytes = 0;    ///< Of the records and ranges.
    std::vector<Error> first;  ///< The errors of the first skips.
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }  ///< Of the whole run.

 private:
  struct Pass {
    std::int64_t skips = 0;
    std::int64_t good = 0;         // records
    std::int64_t consecutive = 0;  // skips
  };
  [[nodiscard]] bool too_many(std::int64_t skips) const;  // by `max_fraction`

  const OnCorrupt allowed_;
  Pass pass_;
  Counts counts_;
};

}  // namespace forebay::engine
