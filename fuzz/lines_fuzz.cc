// SPDX-License-Identifier: Apache-2.0
// Lines: windows of any size find those that a plain search finds.
#include <algorithm>

#include <forebay/plugin.h>

#include "fuzz/windows.h"
#include "sources/detect.h"

using forebay::fuzz::check;
using forebay::tests::WindowScan;

namespace {

constexpr std::size_t max_line = 200;

WindowScan plainly(std::string_view text) {
  WindowScan out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    const bool cut = end == text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > max_line) {
      out.error = "a fault";
      return out;
    }
    if (!cut || !line.empty()) out.records.emplace_back(line);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay;
  static const auto source = fuzz::named(Registry::global().sources(), "lines")
                                 .bind(*parse_json(R"({"files": ["a"], "max_line_bytes": 200})"), BindContext{});
  if (size == 0) return 0;
  const std::string_view file = fuzz::text_of(data + 1, size - 1);
  if (!sources::file_kind(fuzz::bytes_of(data + 1, size - 1)).empty())
    return 0;  // refused by its first bytes, which a small window does not show
  const WindowScan whole = fuzz::scan_file(*source->format, file, file.size(), std::size_t{1} << 30);
  check(fuzz::scan_file(*source->format, file, 1 + std::size_t{data[0]}, 1 + data[0]) == whole,
        "windows do not change what is found");
  check(whole == plainly(file), "the lines are those of a plain search");
  return 0;
}
