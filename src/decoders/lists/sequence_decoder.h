// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <forebay/plugin.h>

#include "decoders/lists/key_order.h"
#include "decoders/lists/list_writer.h"
#include "decoders/record_decoder.h"

namespace forebay::decoders {

/// Memory of one worker between records of sequence examples.
class SequenceMemory final : public DecoderMemory {
 public:
  [[nodiscard]] std::int64_t bytes() const override {
    return context.bytes() + parsed.owned() + scratch.owned() + order.owned();
  }

  ExampleMemory context;  ///< Of the context on the fast path.
  KeyOrder order;         ///< Of the lists.
  Parsed parsed;
  Scratch scratch;
  std::vector<std::uint64_t> seen;       ///< Stamp of the last record with the list, by source.
  std::vector<std::int64_t> first_rows;  ///< First row of the columns of lists, by output.
  std::uint64_t stamp = 0;
  FastPathRest rest;
};

/// Decodes tf.train.SequenceExample. The context of a record is read like an Example; a list in the usual form is read
/// straight into its column. A record with anything else is read by the rules of protobuf. The results are the same.
///
///     record ─┬─ context ─► ExampleDecoder ─► columns
///             └─ lists ───► ListWriter ──────────────► columns
///                 any other form: parse_sequence_example ─► FeatureWriter ─► columns
///
/// The plan owns the decoder; any number of workers call it at once, each with its own memory. Fails at the first
/// malformed record of a call.
class SequenceDecoder final : public Decoder {
 public:
  SequenceDecoder(FeaturePlan context, FeaturePlan lists, Path path);

  [[nodiscard]] std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<SequenceMemory>(); }
  [[nodiscard]] Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                    DecoderMemory& kept) const override;

 private:
  void prepare(ColumnBlock& block, SequenceMemory& memory) const;
  void undo(std::int64_t rows, ColumnBlock& block, SequenceMemory& memory) const;
  [[nodiscard]] bool fast(columns::Wire record, std::int64_t row, ColumnBlock& block, SequenceMemory& memory) const;
  [[nodiscard]] bool write_lists(columns::Wire entries, ColumnBlock& block, SequenceMemory& memory) const;
  [[nodiscard]] bool write_rest(ColumnBlock& block, SequenceMemory& memory) const;
  [[nodiscard]] Result<void> plain(Record record, std::int64_t row, std::int64_t index, ColumnBlock& block,
                                   SequenceMemory& memory) const;

  const ExampleDecoder context_;
  const FeaturePlan lists_;
  const ListWriter writer_;
  const Path path_;
  std::vector<std::size_t> together_;  ///< Outputs that are made after the whole record is read.
  std::size_t wanted_ = 0;             ///< Lists in use.
};

}  // namespace forebay::decoders
