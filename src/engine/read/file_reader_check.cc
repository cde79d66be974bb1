// SPDX-License-Identifier: Apache-2.0
// The functions of FileReader that look into records. Any thread calls them while another finds the next records, so
// they use only what the opening of the file has set.
#include <algorithm>

#include "columns/gather.h"
#include "engine/memory/catch_all.h"
#include "engine/read/file_reader.h"

namespace forebay::engine {

void FileReader::check(Block& block, const RecordCheck& check) const {
  if (!check.run || block.records.empty()) return;
  Result<void> done;
  const auto thrown = catch_all(
      [&] {
        if (finder_) {
          check_messages(*source_.format, check, source_.files[number_], block);
        } else {
          done = check_records(block, check);
        }
        if (done.ok() && block.last && !block.error) done = file_->unchanged();
      },
      no_memory_for_scan);
  if (thrown) {
    block.forget_records();
    done = *thrown;
  }
  if (done.ok()) return;
  const std::int64_t record = block.first_record + std::ssize(block.records);
  block.error = explained(done.error(), record, block.file_end);
}

/// The error of a block with its place. A change of the file explains a fault better than the fault.
Error FileReader::explained(const Error& error, std::int64_t record, std::int64_t offset) const {
  Error out = error;
  static_cast<void>(catch_all([&] {  // without memory for a place, the error has none
    auto same = file_ ? file_->unchanged() : Result<void>{};
    const std::string& path = source_.files[number_];
    // A file that could not be opened has no record to name.
    const Place place = opened_ ? Place{.file = path, .record = record, .offset = offset} : Place{.file = path};
    out = (same.ok() ? error : same.error()).at(place);
  }));
  return out;
}

/// Verifies the records of a block and has them checked. Fails with the fault of the first bad record, with its place,
/// and leaves the records before it in the block.
Result<void> FileReader::check_records(Block& block, const RecordCheck& check) const {
  auto bad = first_malformed(block, check);
  if (block.mapping && block.mapping->corrupt()) {
    block.records.clear();
    block.attributes.clear();
    block.frame_lists.reset();
    return Error{Code::data, Detail::failed_precondition, "the file changed while it was read: it was cut short"};
  }
  if (!bad) return {};
  const std::int64_t payload = block.file_offset + block.records[bad->record].offset;
  block.records.resize(bad->record);
  block.attributes.resize(bad->record * check.attributes);
  return bad->error.at(Place{.file = source_.files[number_],
                             .record = block.first_record + static_cast<std::int64_t>(bad->record),
                             .offset = source_.format->record_offset(payload)});
}

/// A wrong checksum is at the payload, every other fault at the record, as in a ticket (ErrorPlaces).
std::optional<Malformed> FileReader::first_malformed(Block& block, const RecordCheck& check) const {
  std::size_t end = 0;
  for (const Extent& extent : block.records) end = std::max(end, std::size_t{extent.offset} + extent.length);
  std::span<const std::byte> bytes{block.base, end + source_.format->trailer()};
  std::shared_ptr<std::byte> copy;
  if (block.mapping) {  // another process may change the pages: what is decoded is what was verified
    const auto& mapped = block.mapping->bytes();
    const auto left = static_cast<std::size_t>(mapped.data() + mapped.size() - block.base);
    bytes = bytes.first(std::min(bytes.size(), left));
    copy = pool_->lend(bytes.size(), MemoryUse::scan);
    columns::copy_bytes(bytes, copy.get(), pool_.get());
    bytes = {copy.get(), bytes.size()};
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
  block.attributes.assign(block.records.size() * check.attributes, 0);
  std::vector<Malformed> bad;
  check.run(records, bad, std::span{block.attributes}.first(records.size() * check.attributes));
  if (check.frame_lists) block.frame_lists = check.frame_lists();
  check.keep_decoded(block);
  return bad.empty() ? corrupt : std::optional{bad.front()};
}

}  // namespace forebay::engine
