// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/program/program.h"
#include "engine/read/corruption.h"

namespace forebay::engine {

/// Calls `work` for groups of the records until each record was in a group that succeeded, or is in `bad` with its
/// error. `first` is the number of the first record of the group. The error of a group names the record (Place::row).
/// If `work` throws, the record that it was working on gets a Code::internal error; std::bad_alloc and Closed are
/// passed on.
void each_group(std::span<const Record> records, std::vector<Malformed>& bad,
                const std::function<Result<void>(std::span<const Record> group, std::size_t first)>& work);

/// Decodes records only to find malformed ones: a record that may be skipped is judged before it gets a row. One thread
/// at a time.
class TrialDecode {
 public:
  TrialDecode(const Program& program, const StopCheck* check);
  /// Appends the malformed ones of these records to `bad`, as RecordCheck::run does.
  void run(std::span<const Record> records, std::vector<Malformed>& bad);

 private:
  Result<void> decode(std::span<const Record> records);

  const Program& program_;
  std::unique_ptr<DecoderMemory> memory_;
  ColumnBlock block_;
};

/// Readies the columns of `ids` for that many rows: fixed numeric ones have their rows, the others are empty.
void begin_rows(ColumnBlock& block, std::span<const ColumnId> ids, std::int64_t rows);

}  // namespace forebay::engine
