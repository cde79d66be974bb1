// SPDX-License-Identifier: Apache-2.0
// Lines: windows of any size find those that a plain search finds.
#include <algorithm>

#include <forebay/plugin.h>

#include "fuzz/check.h"
#include "sources/detect.h"

using forebay::Extent;
using forebay::Format;
using forebay::fuzz::check;

namespace {

constexpr std::size_t max_line = 200;

struct Lines {
  std::vector<std::string> lines;
  bool failed = false;
  bool operator==(const Lines&) const = default;
};

Lines plainly(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    const bool cut = end == text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > max_line) {
      out.failed = true;
      return out;
    }
    if (!cut || !line.empty()) out.lines.emplace_back(line);
  }
  return out;
}

Lines scan_lines(const Format& format, std::span<const std::byte> file, std::size_t window, std::size_t limit) {
  Lines found;
  std::size_t size = window;
  for (std::size_t at = 0;;) {
    size = std::min(std::max(size, window), file.size() - at);
    const bool last = at + size == file.size();
    const std::vector<std::byte> seen(file.begin() + static_cast<std::ptrdiff_t>(at),
                                      file.begin() + static_cast<std::ptrdiff_t>(at + size));
    std::vector<Extent> extents;
    const auto scanned = format.scan(seen, static_cast<std::int64_t>(at), last, limit, extents);
    for (const Extent& extent : extents)
      found.lines.emplace_back(reinterpret_cast<const char*>(seen.data()) + extent.offset, extent.length);
    if (!scanned.ok()) {
      found.failed = true;
      return found;
    }
    at += scanned->consumed;
    if (at == file.size()) return found;
    check(scanned->consumed > 0 || (!last && scanned->wanted > size), "a scan goes on");
    size = scanned->wanted;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay;
  static const auto& sources = Registry::global().sources();
  static const auto source = std::find_if(sources.begin(), sources.end(), [](const SourceType& type) {
                               return type.description.name == "lines";
                             })->bind(*parse_json(R"({"files": ["a"], "max_line_bytes": 200})"), BindContext{});
  if (size == 0) return 0;
  const auto file = fuzz::bytes_of(data + 1, size - 1);
  if (!sources::file_kind(file).empty()) return 0;  // refused by its first bytes, which a small window does not show
  const Lines whole = scan_lines(*source->format, file, file.size(), std::size_t{1} << 30);
  check(scan_lines(*source->format, file, 1 + std::size_t{data[0]}, 1 + data[0]) == whole,
        "windows do not change what is found");
  check(whole == plainly(fuzz::text_of(data + 1, size - 1)), "the lines are those of a plain search");
  return 0;
}
