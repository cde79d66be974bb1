// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "batchers/sequence_choice.h"

namespace forebay::batchers {

/// The limits of a batch that is one row.
struct FrameRowLimits {
  std::int64_t frames = 1;
  std::int64_t sequences = no_limit;
  bool numbers = false;  // number the sequences
};

/// Fails unless all keys of the element that the stream is at have equally many frames: they are cut at the same
/// frames.
[[nodiscard]] Result<void> check_equal_keys(const Measured& stream, const std::vector<std::string>& keys);

/// Cuts batches of one row, which has the frames of one sequence after the other. A sequence that does not fit goes on
/// in the next batch. Sequences without a frame are left out.
///
///     sequences a (3 frames), b (4), frames 5:     a a a b b     b b
///
/// The engine owns the batcher; one thread at a time calls it. A batch is given as soon as it is full, so the stream
/// is never asked while a part of a sequence is held.
class FrameRowBatcher final : public Batcher {
 public:
  FrameRowBatcher(FrameRowLimits limits, ChoiceOptions choice, std::vector<std::string> keys, BatcherContext context)
      : limits_{limits},
        keys_{std::move(keys)},
        reader_{context.reader},
        stream_{std::move(context), choice.attributes(keys_.size()), limits.numbers || choice.counts()},
        choice_{std::move(choice)} {}

  Result<Cut> cut(Handles& in, BatchRows& out) override;
  [[nodiscard]] std::vector<std::int64_t> carried() const override { return {frames_, sequences_}; }
  Result<void> resume(std::span<const std::int64_t> carried) override;

 private:
  [[nodiscard]] Result<bool> next(Handles& in, const BatchRows& out);
  void place(BatchRows& out);

  const FrameRowLimits limits_;
  const std::vector<std::string> keys_;
  Reader& reader_;
  Measured stream_;
  SequenceChoice choice_;
  Handle element_;                           // that is placed
  std::int64_t start_ = 0, left_ = 0;        // its next frame, and those from there on
  std::int64_t pass_ = 0;                    // of the element
  std::int64_t sequence_ = 0;                // its number in the pass
  std::int64_t frames_ = 0, sequences_ = 0;  // of the open row
};

}  // namespace forebay::batchers
