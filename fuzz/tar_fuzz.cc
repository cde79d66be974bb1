// SPDX-License-Identifier: Apache-2.0
// Tar archives: records lie inside the bytes, windows of any size find the same ones, and the decoder takes any bytes.
#include <algorithm>

#include <forebay/plugin.h>

#include "fuzz/check.h"

using forebay::Extent;
using forebay::Format;
using forebay::fuzz::check;

namespace {

template <class Type>
const Type& named_tar(const std::vector<Type>& types) {
  return *std::find_if(types.begin(), types.end(), [](const Type& type) { return type.description.name == "tar"; });
}

struct Found {
  std::vector<std::string> records;
  bool failed = false;
  bool operator==(const Found&) const = default;
};

// Like the engine: each window begins where the last scan stopped, and is as large as the scan requested.
Found scan_all(const Format& format, std::span<const std::byte> file, std::size_t window, std::size_t limit) {
  Found found;
  std::size_t size = window;
  for (std::size_t at = 0;;) {
    size = std::min(std::max(size, window), file.size() - at);
    const bool last = at + size == file.size();
    const std::vector<std::byte> seen(file.begin() + static_cast<std::ptrdiff_t>(at),
                                      file.begin() + static_cast<std::ptrdiff_t>(at + size));
    std::vector<Extent> extents;
    const auto scanned = format.scan(seen, static_cast<std::int64_t>(at), last, limit, extents);
    for (const Extent& extent : extents) {
      check(std::size_t{extent.offset} + extent.length <= size, "a record lies inside the bytes that were scanned");
      found.records.emplace_back(reinterpret_cast<const char*>(seen.data()) + extent.offset, extent.length);
    }
    if (!scanned.ok()) {
      found.failed = true;
      return found;
    }
    check(scanned->consumed <= size, "no more is consumed than is there");
    at += scanned->consumed;
    if (at == file.size()) return found;
    check(scanned->consumed > 0 || (!last && scanned->wanted > size), "a scan goes on");
    size = scanned->wanted;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay;
  static const auto source = named_tar(Registry::global().sources())
                                 .bind(*parse_json(R"({"files": ["a"], "max_record_bytes": 100000})"), BindContext{});
  static const auto decoder =
      named_tar(Registry::global().decoders()).bind(*parse_json(R"({"columns": {"x": "a;b.c"}})"), {});
  if (size == 0) return 0;
  const auto file = fuzz::bytes_of(data + 1, size - 1);
  const Found whole = scan_all(*source->format, file, file.size(), std::size_t{1} << 30);
  check(scan_all(*source->format, file, 1 + data[0] * std::size_t{7}, 1 + data[0]) == whole,
        "windows do not change what is found");
  const auto memory = decoder->op->memory();
  for (const std::string& record : whole.records) {
    ColumnBlock block;
    for (const ColumnId id : decoder->out.visible()) block.columns.emplace_back(decoder->out[id]);
    const Record bytes = std::as_bytes(std::span{record});
    const auto done = decoder->op->decode({&bytes, 1}, 0, block, *memory);
    check(!done.ok() || block.columns[0].string(0).size() <= record.size(), "a member lies inside its record");
  }
  return 0;
}
