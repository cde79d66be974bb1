// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <forebay/plugin.h>

#include "decoders/direct_copy.h"
#include "decoders/feature_plan.h"
#include "decoders/feature_writer.h"
#include "decoders/message_template.h"

namespace forebay::decoders {

/// Lets the fast path rest for a growing number of records after it failed, so that few records pay for both paths.
class FastPathRest {
 public:
  /// Whether the next record takes the slow path.
  [[nodiscard]] bool goes_on() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  [[nodiscard]] bool has_failed() const { return next_ > 1; }  ///< Since it worked last.
  void worked() { next_ = 1; }
  void failed() {
    next_ = std::min(next_ * 2, longest);
    left_ = next_ / 4;
  }

 private:
  static constexpr std::uint32_t longest = 1024;  // four times the records

  std::uint32_t left_ = 0;
  std::uint32_t next_ = 1;
};

/// Memory of one worker between records.
class RecordMemory : public DecoderMemory {
 public:
  [[nodiscard]] std::int64_t bytes() const override { return parsed.owned() + scratch.owned(); }

  Parsed parsed;
  Scratch scratch;
};

/// The same, with the layouts that the fast path has learnt.
class ExampleMemory final : public RecordMemory {
 public:
  LayoutBook layouts;
  std::vector<Sink> sinks;
  std::vector<std::int64_t> first_rows;  ///< First row of appended columns, by output.
  std::uint64_t stamp = 0;
  FastPathRest rest;
};

/// How records are read. The results are the same.
enum class Path : std::uint8_t {
  fast,   ///< By the layout of earlier records; by the rules of protobuf where it does not match.
  plain,  ///< By the rules of protobuf alone.
};

/// Decodes tf.train.Example. Const: any number of workers call it, each with its own memory.
class ExampleDecoder final : public Decoder {
 public:
  /// The kernel is used by the fast path. It may be null.
  ExampleDecoder(FeaturePlan plan, Path path, StraightKernel straight = straight_kernel());

  [[nodiscard]] std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<ExampleMemory>(); }
  [[nodiscard]] Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                    DecoderMemory& memory) const override;

  // For a decoder of messages that contain the features of an Example.
  [[nodiscard]] const FeaturePlan& plan() const { return plan_; }
  /// Begins a call: the columns of `block` may lie elsewhere than in the last call.
  void prepare(ColumnBlock& block, ExampleMemory& memory) const;
  /// Decodes the entries of a Features message on the fast path. False: they have another form or a fault; the row is
  /// then unspecified, and `undo` removes it.
  [[nodiscard]] bool read_entries(columns::Wire entries, std::int64_t row, ColumnBlock& block,
                                  ExampleMemory& memory) const;
  /// Leaves the first `rows` rows of this call in the columns that decoding appends to.
  void undo(std::int64_t rows, ColumnBlock& block, const ExampleMemory& memory) const;

 private:
  [[nodiscard]] bool fast(columns::Wire record, std::int64_t row, ColumnBlock& block, ExampleMemory& memory) const;
  [[nodiscard]] bool put(const MessageTemplate& head, columns::Wire values, Sink& sink, std::int64_t row,
                         ColumnBlock& block, ExampleMemory& memory) const;
  [[nodiscard]] bool find(LayoutBook& book, StraightRun& run, const std::uint8_t* entries) const;
  [[nodiscard]] bool finish(std::int64_t row, ColumnBlock& block, ExampleMemory& memory) const;
  [[nodiscard]] bool slow_values(const MessageTemplate& head, columns::Wire values, std::int64_t row,
                                 ColumnBlock& block, ExampleMemory& memory) const;
  [[nodiscard]] Result<void> plain(Record record, std::int64_t row, std::int64_t index, ColumnBlock& block,
                                   ExampleMemory& memory) const;

  const FeaturePlan plan_;
  const Path path_;
  const StraightKernel straight_;
  std::vector<Target> targets_;        ///< By source.
  std::vector<std::size_t> together_;  ///< Outputs that are made after the whole record is read.
  std::size_t wanted_ = 0;             ///< Sources in use.
};

/// The error for a malformed record.
[[nodiscard]] Error malformed_record(std::string_view message, Record record, const Parsed& parsed, std::int64_t index);

}  // namespace forebay::decoders
