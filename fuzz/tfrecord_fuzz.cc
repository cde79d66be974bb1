// SPDX-License-Identifier: Apache-2.0
// TFRecord framing: records lie inside the bytes, their checksums are right, and windows of any size find the same
// ones.
#include <algorithm>
#include <optional>

#include "base/cpu.h"
#include "columns/crc32c.h"
#include "fuzz/check.h"
#include "sources/framing.h"

using forebay::Error;
using forebay::Extent;
using forebay::Format;
using forebay::Record;
using forebay::fuzz::check;

namespace {

struct Found {
  std::vector<std::string> records;
  bool failed = false;
  bool operator==(const Found&) const = default;
};

// Like the engine: each window begins where the last scan stopped, and is as large as the scan requested.
Found scan_all(const Format& format, std::span<const std::byte> file, std::size_t window, std::size_t limit) {
  Found found;
  std::size_t at = 0;
  std::size_t size = window;
  while (true) {
    size = std::min(size, file.size() - at);
    const bool last = at + size == file.size();
    const auto seen = forebay::fuzz::with_slack(file.subspan(at, size));
    std::vector<Extent> extents;
    auto scanned = format.scan(std::span{seen}.first(size), static_cast<std::int64_t>(at), last, limit, extents);
    for (const Extent& extent : extents) {
      check(std::size_t{extent.offset} + extent.length <= size, "a record lies inside the bytes that were scanned");
      const Record record = std::span{seen}.subspan(extent.offset, extent.length);
      if (!format.verify({&record, 1}).ok()) {
        found.failed = true;
        return found;
      }
      found.records.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
    }
    if (!scanned.ok()) {
      check(scanned.error().place().offset <= static_cast<std::int64_t>(file.size()), "a fault lies inside the file");
      found.failed = true;
      return found;
    }
    check(scanned->consumed <= size, "a scan consumes what it was given, not more");
    at += scanned->consumed;
    if (at == file.size()) return found;
    check(scanned->consumed > 0 || (!last && scanned->wanted > size), "a scan makes progress or says what it wants");
    size = std::max(window, scanned->wanted);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t window = std::size_t{16} + data[0];
  const auto file = forebay::fuzz::bytes_of(data + 1, size - 1);
  static const auto format = forebay::sources::tfrecord_format();
  const Found whole = scan_all(*format, file, file.size(), file.size());
  const Found pieces = scan_all(*format, file, window, window);
  check(whole == pieces, "windows of any size find the same records");
  std::size_t framed = 0;
  for (const std::string& record : whole.records) framed += record.size() + 16;
  check(whole.failed || framed == file.size(), "a file without a fault is records from end to end");
  return 0;
}
