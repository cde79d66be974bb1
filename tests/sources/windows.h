// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/plugin.h>

/// Scans a whole file window by window, as the engine does. Shared by the tests and the fuzz targets.
namespace forebay::tests {

inline constexpr std::string_view broken = "broken: ";

struct WindowScan {
  std::vector<std::string> records;
  std::string error;  ///< Its place and message; empty at a clean end; or `broken`, and the rule of formats that is.
  bool operator==(const WindowScan&) const = default;
};

/// Adds the records to `out`. False: one lies outside of the bytes.
[[nodiscard]] inline bool add_records(std::span<const std::byte> bytes, const std::vector<Extent>& extents,
                                      WindowScan& out) {
  for (const Extent& extent : extents) {
    if (std::size_t{extent.offset} + extent.length > bytes.size()) return false;
    const auto record = bytes.subspan(extent.offset, extent.length);
    out.records.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
  }
  return true;
}

/// Each window has `window` bytes, or as many as the format wants, and a scan stops after `limit` of them.
[[nodiscard]] inline WindowScan scan_in_windows(const Format& format, std::string_view content, std::size_t window,
                                                std::size_t limit) {
  WindowScan out;
  const auto file = std::as_bytes(std::span{content});
  std::size_t wanted = window;
  for (std::size_t at = 0;;) {
    const std::size_t size = std::min(std::max(window, wanted), file.size() - at);
    const bool last = at + size == file.size();
    const auto part = file.subspan(at, size);
    const std::vector<std::byte> bytes{part.begin(), part.end()};  // reads outside of a copy are found by the sanitizer
    std::vector<Extent> extents;
    const auto scanned = format.scan(bytes, static_cast<std::int64_t>(at), last, std::min(limit, size), extents);
    if (!add_records(bytes, extents, out)) return out.error = "broken: a record lies outside of the bytes", out;
    if (!scanned.ok()) return out.error = scanned.error().text(), out;
    if (scanned->consumed > size) return out.error = "broken: more is consumed than is there", out;
    at += scanned->consumed;
    wanted = scanned->wanted;
    if (last && at == file.size()) return out;
    if (scanned->consumed == 0 && (last || wanted <= size)) return out.error = "broken: a scan does not go on", out;
  }
}

/// The format that a source has with these options.
[[nodiscard]] inline std::shared_ptr<const Format> format_of(const SourceType& source, const std::string& options) {
  const auto bound = source.bind(*parse_json(options), {});
  return bound.ok() ? bound->format : nullptr;
}

}  // namespace forebay::tests
