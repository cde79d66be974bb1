// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/index/trial_decode.h"
#include "engine/memory/buffer_pool.h"
#include "engine/read/frames/frame_values.h"

namespace forebay::engine {

/// Looks into records when their block is read: finds malformed ones, if the run may skip, and computes the attributes.
/// A record without an attribute, because a step or an expression fails for it, counts as malformed.
///
///     groups of 64 records: decode ─► steps ─► expressions ─► attributes
///
/// A run that may skip decodes the columns of the tickets, else only those that the attributes need are decoded. With
/// `Keep::records` it decodes all records of a block together, and gives their columns to the block. One thread at a
/// time uses it, for blocks of any part. With attributes, the memory counts against the budget.
class EarlyCheck {
 public:
  enum class Keep : std::uint8_t { nothing, records };  ///< The second for programs with Taking::early.

  EarlyCheck(const Program& program, std::shared_ptr<BufferPool> pool, Keep keep);
  /// A RecordCheck::Run.
  void run(std::span<const Record> records, std::vector<Malformed>& bad, std::span<std::int64_t> attributes);
  /// A RecordCheck::frame_lists. Null when the program has no frame attributes.
  std::shared_ptr<FrameLists> frame_lists() { return std::move(lists_); }
  /// A RecordCheck::decoded.
  DecodedRecords decoded() { return std::exchange(decoded_, {}); }

 private:
  struct Decoding {
    const Decoder& decoder;
    const std::vector<ColumnId>& columns;
    std::unique_ptr<DecoderMemory> memory = nullptr;
  };
  void use(const std::vector<ColumnId>& columns);
  void begin_lists();
  [[nodiscard]] bool compute_together(std::span<const Record> records, std::span<std::int64_t> attributes);
  [[nodiscard]] Result<void> make_elements();
  [[nodiscard]] Result<void> compute(std::span<const Record> records, std::size_t first,
                                     std::span<std::int64_t> attributes);
  [[nodiscard]] Result<void> evaluate(std::span<const Record> records, std::size_t first,
                                      std::span<std::int64_t> attributes);
  [[nodiscard]] Result<void> make_columns(std::size_t& done, std::size_t steps);
  [[nodiscard]] Result<void> evaluate(const EarlyAttribute& attribute, std::size_t number,
                                      std::span<std::int64_t> attributes);
  [[nodiscard]] Result<void> list_frames(std::size_t first, std::int64_t records);
  [[nodiscard]] Result<void> evaluate_frames(std::span<const FrameOf> frames, std::size_t first);
  void account();

  const Program& program_;
  const EarlyWork& work_;
  std::shared_ptr<BufferPool> pool_;
  std::vector<Decoding> decodings_;  // one or two: of the tickets, and of columns that those do not decode
  std::vector<std::unique_ptr<StepMemory>> memories_;  // by step
  std::vector<ColumnId> made_;                         // columns that the steps make
  std::vector<ColumnId> used_;                         // all columns that are filled, each once
  ColumnBlock block_;
  FrameValues frames_;
  std::shared_ptr<FrameLists> lists_;  // of the records of `run`
  const bool keeps_;
  std::vector<ColumnId> of_elements_;  // columns that the steps on elements make, when they are kept
  DecodedRecords decoded_;             // of the records of `run`
  Charge charge_;
};

/// A check of records for this program: none, a trial decode, attributes, or both. One thread at a time uses it.
[[nodiscard]] RecordCheck check_of(const Program& program, const std::shared_ptr<BufferPool>& pool,
                                   EarlyCheck::Keep keep = EarlyCheck::Keep::nothing);

/// Corruption is an error of the scan, or is found and listed when the program may skip.
[[nodiscard]] inline Corruption corruption_of(const Program& program) {
  return skips_early(program.on_corrupt) ? Corruption::find : Corruption::fail;
}

}  // namespace forebay::engine
