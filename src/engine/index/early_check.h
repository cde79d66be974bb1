// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/index/trial_decode.h"
#include "engine/memory/buffer_pool.h"

namespace forebay::engine {

/// Computes the attributes of records: decodes the columns that they need, applies the steps that make them, evaluates
/// the expressions. A record without an attribute, because a step or an expression fails for it, counts as malformed.
///
///     records ─► trial decode, if the run may skip ─► groups of 64: decode ─► steps ─► expressions ─► attributes
///
/// Owned by one scan; one thread at a time. Its columns count against the budget.
class EarlyCheck {
 public:
  EarlyCheck(const Program& program, std::shared_ptr<BufferPool> pool);
  /// A RecordCheck::Run.
  void run(std::span<const Record> records, std::vector<Malformed>& bad, std::span<std::int64_t> attributes);

 private:
  void compute(std::span<const Record> records, std::vector<Malformed>& bad, std::span<std::int64_t> attributes);
  [[nodiscard]] Result<void> compute_group(std::span<const Record> records, std::span<std::int64_t> attributes);
  [[nodiscard]] Result<void> evaluate(const EarlyAttribute& attribute, std::size_t number,
                                      std::span<std::int64_t> attributes);
  void account();

  const Program& program_;
  const EarlyWork& work_;
  std::shared_ptr<BufferPool> pool_;
  std::optional<TrialDecode> trial_;  // set when the run may skip
  std::vector<ColumnId> used_;        // columns that the early work fills
  std::unique_ptr<DecoderMemory> memory_;
  ColumnBlock block_;
  Charge charge_;
};

/// The check of the records of one scan for this program: none, a trial decode, attributes, or both.
[[nodiscard]] RecordCheck check_of(const Program& program, const std::shared_ptr<BufferPool>& pool);

/// Corruption is an error of the scan, or is found and listed when the program may skip.
[[nodiscard]] inline Corruption corruption_of(const Program& program) {
  return program.on_corrupt.policy == Corrupt::fail ? Corruption::fail : Corruption::find;
}

}  // namespace forebay::engine
