// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <forebay/plugin.h>

/// Scans a whole file window by window, as the engine does.
namespace forebay::tests {

struct WindowScan {
  std::vector<std::string> records;
  std::string error;  ///< Its place and message; empty at a clean end.
  bool operator==(const WindowScan&) const = default;
};

/// Each window has `window` bytes, or as many as the format wants, and a scan stops after `limit` of them.
[[nodiscard]] inline WindowScan scan_in_windows(const Format& format, const std::string& content, std::size_t window,
                                                std::size_t limit) {
  WindowScan out;
  std::size_t wanted = window;
  for (std::size_t at = 0;;) {
    const std::size_t size = std::min(std::max(window, wanted), content.size() - at);
    const bool last = at + size == content.size();
    const std::string bytes = content.substr(at, size);  // a copy: reads outside it are found by the sanitizer
    std::vector<Extent> extents;
    const auto scanned = format.scan(std::as_bytes(std::span{bytes}), static_cast<std::int64_t>(at), last,
                                     std::min(limit, size), extents);
    for (const Extent& extent : extents) out.records.push_back(bytes.substr(extent.offset, extent.length));
    if (!scanned.ok()) return out.error = scanned.error().text(), out;
    at += scanned->consumed;
    wanted = scanned->wanted;
    if (last && at == content.size()) break;
    if (scanned->consumed == 0 && (last || wanted <= size)) return out.error = "no progress", out;
  }
  return out;
}

/// The format that a source has with these options.
[[nodiscard]] inline std::shared_ptr<const Format> format_of(const SourceType& source, const std::string& options) {
  const auto bound = source.bind(*parse_json(options), {});
  return bound.ok() ? bound->format : nullptr;
}

}  // namespace forebay::tests
