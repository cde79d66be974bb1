// SPDX-License-Identifier: Apache-2.0
// The functions of FileReader that look into records, without Corruption::find.
#include <algorithm>

#include "engine/read/file_reader.h"

namespace forebay::engine {

/// Verifies the records of a block and has them checked. Fails with the fault of the first bad record, with its place,
/// and leaves the records before it in the block.
Result<void> FileReader::check_records(Block& block) {
  auto bad = first_malformed(block, block.attributes);
  window_ = {};  // thousands of files may be open
  if (mapping_ && mapping_->corrupt()) {
    block.records.clear();
    block.attributes.clear();
    return Error{Code::data, Detail::failed_precondition, "the file changed while it was read: it was cut short"};
  }
  if (!bad) return {};
  const std::int64_t payload = block.file_offset + block.records[bad->record].offset;
  block.records.resize(bad->record);
  block.attributes.resize(bad->record * check_.attributes);
  return bad->error.at(Place{.file = source_.files[number_],
                             .record = record_ + static_cast<std::int64_t>(bad->record),
                             .offset = source_.format->record_offset(payload)});
}

/// A wrong checksum is at the payload, every other fault at the record, as in a ticket (Executor::place).
std::optional<Malformed> FileReader::first_malformed(const Block& block, std::vector<std::int64_t>& attributes) {
  std::size_t end = 0;
  for (const Extent& extent : block.records) end = std::max(end, std::size_t{extent.offset} + extent.length);
  std::span<const std::byte> bytes{block.base, end + source_.format->trailer()};
  if (block.mapping) {  // another process may change the pages: what is decoded is what was verified
    const auto& mapped = block.mapping->bytes();
    const auto left = static_cast<std::size_t>(mapped.data() + mapped.size() - block.base);
    bytes = private_window(bytes.first(std::min(bytes.size(), left)));
  }
  std::vector<Record> records;
  records.reserve(block.records.size());
  for (const Extent& extent : block.records) records.push_back(bytes.subspan(extent.offset, extent.length));
  std::optional<Malformed> corrupt;
  if (const auto good = source_.format->verify(records); !good.ok()) {
    const auto row = static_cast<std::size_t>(std::max<std::int64_t>(0, good.error().place().row));
    const std::int64_t payload = block.file_offset + block.records[row].offset;
    corrupt = Malformed{.record = row, .error = good.error().at(Place{.offset = payload})};
    records.resize(row);
  }
  attributes.assign(block.records.size() * check_.attributes, 0);
  std::vector<Malformed> bad;
  check_.run(records, bad, std::span{attributes}.first(records.size() * check_.attributes));
  return bad.empty() ? corrupt : std::optional{bad.front()};
}

}  // namespace forebay::engine
