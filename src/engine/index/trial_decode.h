// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/program/program.h"
#include "engine/read/corruption.h"

namespace forebay::engine {

/// Decodes records only to find malformed ones: a record that may be skipped is judged before it gets a row. One thread
/// at a time.
class TrialDecode {
 public:
  TrialDecode(const Program& program, const StopCheck* check);
  /// A RecordCheck. If the decoder throws, the record that it was decoding gets a Code::internal error; std::bad_alloc
  /// is passed on.
  void run(std::span<const Record> records, std::vector<Malformed>& bad);

 private:
  Result<void> attempt(std::span<const Record> records);
  Result<void> decode(std::span<const Record> records);

  const Program& program_;
  std::unique_ptr<DecoderMemory> memory_;
  ColumnBlock block_;
};

/// A trial decode as the check of one scan. `check` must outlive it.
[[nodiscard]] RecordCheck trial_check(const Program& program, const StopCheck* check);

}  // namespace forebay::engine
