// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <forebay/error.h>

#include "engine/program/on_corrupt.h"
#include "engine/read/block.h"

namespace forebay::engine {

/// What was skipped, and whether that is still within the budgets. Counted in the order in which the order plane comes
/// by, so that it is part of the stream and of its restart.
///
/// How many records were lost is judged at the end of a pass: a range of bytes, or the rest of a file that was given
/// up, stands for as many as it would hold of the mean size that the records found in this pass had; a file that could
/// not be read at all for as many as the others had in the mean; each for one at least. Until then each counts as one.
class SkipTally {
 public:
  explicit SkipTally(const OnCorrupt& allowed) : allowed_{allowed} {}

  void begin_pass() { pass_ = {}; }
  void begin_file() { ++pass_.files; }
  /// Records, good or corrupt, that are in what is gone through next, and the bytes of their frames.
  void found(std::int64_t records, std::int64_t bytes) {
    pass_.found += records;
    pass_.found_bytes += bytes;
  }
  void found_in(const Block& block);
  void good(std::int64_t records) {
    pass_.good += records;
    pass_.consecutive = 0;
  }
  /// Fails, and counts nothing, when that is one too many or not the data's fault.
  [[nodiscard]] Result<void> add(const Skip& skip);
  [[nodiscard]] Result<void> end_pass() const;  ///< Fails when too large a part of the pass was skipped.

  struct Counts {
    std::int64_t records = 0;  ///< Corrupt or malformed ones.
    std::int64_t ranges = 0;   ///< Stretches of bytes in which no record could be found.
    std::int64_t files = 0;    ///< Given up at their first corruption.
    std::int64_t bytes = 0;
    std::vector<Error> first;  ///< Where and why, the first of them.
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }  ///< Of the whole run.

 private:
  struct Pass {
    std::int64_t skips = 0;
    std::int64_t good = 0;         // records
    std::int64_t consecutive = 0;  // skips
    std::int64_t found = 0;        // records …
    std::int64_t found_bytes = 0;  // … and their frames
    std::int64_t files = 0;        // begun
    std::int64_t lost_files = 0;   // of them
    std::int64_t lost_parts = 0;   // ranges, and rests of files …
    std::int64_t lost_bytes = 0;   // … with so much content
  };
  [[nodiscard]] std::int64_t lost_records() const;

  const OnCorrupt allowed_;
  Pass pass_;
  Counts counts_;
};

}  // namespace forebay::engine
