// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <forebay/records.h>

#include "columns/crc32c.h"
#include "engine/index/scan_file.h"
#include "engine/requests/open_file.h"
#include "sources/framing.h"

namespace forebay {
namespace {

/// Calls `visit` for the records of a block. False: the visitor has had enough. Records of a mapped file are copied
/// before they are checked, because another process may write to it.
Result<bool> visit_block(const engine::Block& block, const Source& source,
                         const std::function<bool(const RecordView&)>& visit) {
  std::int64_t number = block.first_record;
  std::vector<std::byte> copy;
  for (const Extent& extent : block.records) {
    Record record{block.base + extent.offset, extent.length};
    if (block.mapping) {
      copy.assign(record.data(), record.data() + record.size() + source.format->trailer());
      copy.resize(copy.size() + record_slack);
      record = {copy.data(), extent.length};
    }
    const std::int64_t payload = block.file_offset + static_cast<std::int64_t>(extent.offset);
    FOREBAY_DO(source.format->verify({&record, 1})
                   .at(Place{.file = source.files.front(), .record = number, .offset = payload}));
    const std::string_view bytes{reinterpret_cast<const char*>(record.data()), record.size()};
    if (!visit({.bytes = bytes, .number = number++, .offset = source.format->record_offset(payload)})) return false;
  }
  return true;
}

}  // namespace

Result<void> each_record(const std::string& path, const std::function<bool(const RecordView&)>& visit,
                         const EachRecordOptions& options) {
  FOREBAY_DO(engine::open_file(path));  // what cannot be opened fails here, and not at a record
  const Source source{.files = {path}, .compression = options.compression, .format = sources::tfrecord_format()};
  engine::PassCache cache{0};
  engine::FileReader reader{source, 0, std::make_shared<engine::BufferPool>(std::numeric_limits<std::int64_t>::max()),
                            cache};
  bool enough = false;
  auto done = engine::each_block(reader, [&](const engine::Block& block) -> Result<void> {
    FOREBAY_TRY(const bool more, visit_block(block, source, visit));
    enough = !more;
    if (enough || (options.go_on && !options.go_on())) return Error{Code::cancelled, "interrupted"};
    return {};
  });
  if (enough) return {};
  FOREBAY_DO(done);
  return reader.unchanged();
}

std::uint32_t crc32c(std::string_view bytes) { return columns::crc32c(std::as_bytes(std::span{bytes})); }

Result<std::vector<std::string>> read_records(const std::string& path, Compression compression) {
  std::vector<std::string> records;
  const auto append = [&](const RecordView& record) { return records.emplace_back(record.bytes), true; };
  FOREBAY_DO(each_record(path, append, {.compression = compression}));
  return records;
}

}  // namespace forebay
