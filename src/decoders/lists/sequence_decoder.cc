// SPDX-License-Identifier: Apache-2.0
#include "decoders/lists/sequence_decoder.h"

#include <algorithm>

#include "columns/take/column_rows.h"

namespace forebay::decoders {
namespace {

using columns::Wire;

Wire bytes_of_record(Record record) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(record.data());
  return {at, at + record.size()};
}

}  // namespace

SequenceDecoder::SequenceDecoder(FeaturePlan context, FeaturePlan lists, Path path)
    : context_{std::move(context), path}, lists_{std::move(lists)}, writer_{lists_}, path_{path} {
  for (const Source& source : lists_.sources) wanted_ += source.uses > 0 ? 1 : 0;
  for (std::size_t i = 0; i < lists_.outputs.size(); ++i) {
    if (writer_.action(lists_.outputs[i].source) == ListAction::hold) together_.push_back(i);
  }
}

void SequenceDecoder::prepare(ColumnBlock& block, SequenceMemory& memory) const {
  context_.prepare(block, memory.context);
  memory.seen.resize(lists_.sources.size());
  memory.first_rows.resize(lists_.outputs.size());
  for (std::size_t i = 0; i < lists_.outputs.size(); ++i) memory.first_rows[i] = block[lists_.outputs[i].column].rows;
}

/// Leaves `rows` rows of this call in the columns.
void SequenceDecoder::undo(std::int64_t rows, ColumnBlock& block, SequenceMemory& memory) const {
  context_.undo(rows, block, memory.context);
  for (std::size_t i = 0; i < lists_.outputs.size(); ++i)
    columns::truncate(block[lists_.outputs[i].column], memory.first_rows[i] + rows);
}

Result<void> SequenceDecoder::decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                     DecoderMemory& kept) const {
  auto& memory = static_cast<SequenceMemory&>(kept);
  prepare(block, memory);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (path_ == Path::fast && !memory.rest.goes_on()) {
      if (fast(bytes_of_record(records[i]), first_row + index, block, memory)) {
        memory.rest.worked();
        continue;
      }
      undo(index, block, memory);
      memory.rest.failed();
    }
    FOREBAY_DO(plain(records[i], first_row + index, index, block, memory));
  }
  return {};
}

Result<void> SequenceDecoder::plain(Record record, std::int64_t row, std::int64_t index, ColumnBlock& block,
                                    SequenceMemory& memory) const {
  const FeaturePlan& context = context_.plan();
  memory.parsed.clear(context.sources.size(), lists_.sources.size());
  if (!parse_sequence_example(bytes_of_record(record), context.keys, lists_.keys, memory.parsed))
    return malformed_record("tf.train.SequenceExample", record, memory.parsed, index);
  for (const FeaturePlan* plan : {&context, &lists_}) {
    const Looked looked = plan == &lists_ ? Looked::lists : Looked::context;
    FeatureWriter writer{*plan, memory.parsed, memory.scratch, block, bytes_of_record(record), looked};
    for (const Output& output : plan->outputs) FOREBAY_DO(writer.write(output, row, index));
  }
  return {};
}

bool SequenceDecoder::fast(Wire record, std::int64_t row, ColumnBlock& block, SequenceMemory& memory) const {
  Wire parts[2]{{record.end, record.end}, {record.end, record.end}};  // the context, the lists
  bool there[2]{};
  while (!record.empty()) {
    const std::size_t part = *record.at == 0x0a ? 0 : 1;
    if ((part == 1 && *record.at != 0x12) || there[part]) return false;
    there[part] = true;
    ++record.at;
    if (!columns::read_bytes(record, parts[part])) return false;
  }
  return context_.read_entries(parts[0], row, block, memory.context) && write_lists(parts[1], block, memory);
}

bool SequenceDecoder::write_lists(Wire entries, ColumnBlock& block, SequenceMemory& memory) const {
  ++memory.stamp;
  if (!together_.empty()) memory.parsed.clear(0, lists_.sources.size());
  std::size_t found = 0;
  std::size_t place = 0;
  for (Wire key, steps; !entries.empty(); ++place) {
    if (!next_entry(entries, key, steps)) return false;
    const int source = memory.order.find(place, key, lists_.keys);
    if (source == KeyTable::none) continue;
    std::uint64_t& seen = memory.seen[static_cast<std::size_t>(source)];
    if (seen == memory.stamp) return false;  // the last entry of a key counts, but the row is already written
    seen = memory.stamp;
    ++found;
    const bool held = writer_.action(source) == ListAction::hold;
    FoundList* const list = held ? &memory.parsed.lists[static_cast<std::size_t>(source)] : nullptr;
    if (held ? !parse_feature_list({&steps, 1}, memory.parsed, *list)
             : !writer_.write(source, steps, block, memory.scratch.values))
      return false;
  }
  return (found == wanted_ && together_.empty()) || write_rest(block, memory);
}

/// Writes the rows of lists that the record lacks, and the columns that FeatureWriter makes. False: an error, which the
/// plain path reports.
bool SequenceDecoder::write_rest(ColumnBlock& block, SequenceMemory& memory) const {
  if (together_.empty()) memory.parsed.clear(0, lists_.sources.size());
  FeatureWriter writer{lists_, memory.parsed, memory.scratch, block};
  for (const Output& output : lists_.outputs) {
    const bool missing = memory.seen[static_cast<std::size_t>(output.source)] != memory.stamp;
    const bool held = writer_.action(output.source) == ListAction::hold;
    if ((held || missing) && !writer.write(output, 0, 0).ok()) return false;
  }
  return true;
}

}  // namespace forebay::decoders
