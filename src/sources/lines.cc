// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/lines.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/core.h>

#include "sources/detect.h"
#include "sources/framing.h"
#include "sources/newlines.h"
#include "sources/source_files.h"

namespace forebay::sources {
namespace {

constexpr std::size_t lines_at_once = 512;

/// The offset of the first line feed from `from` on and before `to`; `to` when there is none.
std::size_t line_end(std::span<const std::byte> bytes, std::size_t from, std::size_t to) {
  const void* const end = from < to ? std::memchr(bytes.data() + from, '\n', to - from) : nullptr;
  return end == nullptr ? to : static_cast<std::size_t>(static_cast<const std::byte*>(end) - bytes.data());
}

class LinesFormat final : public Format {
 public:
  explicit LinesFormat(const Lines& options)
      : header_{options.skip_header_lines}, max_{static_cast<std::size_t>(options.max_line_bytes)} {}

  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    std::size_t at = 0;
    if (offset == 0) {
      if (const auto kind = file_kind(bytes); !kind.empty()) return no_text(kind);
    }
    if (offset == 0 && !skip_header(bytes, at))
      return last ? Scanned{.consumed = bytes.size()} : Scanned{.wanted = bytes.size() + 1};
    limit = std::min(limit, std::size_t{max_record_bytes});
    const std::size_t reached = std::min(limit, bytes.size());
    while (at < reached) {
      std::array<std::uint32_t, lines_at_once> ends;
      const std::size_t found = find_newlines(bytes.subspan(at, reached - at), ends);
      if (!add_lines(bytes, at, std::span{ends}.first(found), records)) return too_long(offset, at);
      if (found < ends.size()) break;
    }
    if (at >= limit) return Scanned{.consumed = at};
    return end_at_limit(bytes, offset, at, last, records);
  }

  bool text() const override { return true; }

  Result<void> verify(std::span<const Record>) const override { return {}; }  // text has no checksums

  /// A line that is too long was found: the next record begins after its line feed.
  Resync resync(std::span<const std::byte> bytes, std::int64_t, std::size_t from, bool last,
                std::shared_ptr<void>&) const override {
    const std::size_t end = line_end(bytes, from, bytes.size());
    if (end + 1 < bytes.size()) return {.at = end + 1, .found = true};
    if (last) return {.at = bytes.size()};
    return {.at = end, .wanted = end + 2};  // the line feed, too, stays for the next call
  }

  std::string key(std::string_view file, std::int64_t record, std::int64_t) const override {
    return fmt::format("{}:{}", file, header_ + record + 1);
  }

 private:
  /// Moves `at` to the end of the header. False: the header is longer than `bytes`.
  bool skip_header(std::span<const std::byte> bytes, std::size_t& at) const {
    for (std::int64_t line = 0; line < header_; ++line) {
      const std::size_t end = line_end(bytes, at, bytes.size());
      if (end == bytes.size()) return false;
      at = end + 1;
    }
    return true;
  }

  /// Appends the lines that begin at `at` and have these ends, which count from `at`, and moves `at` after them. False:
  /// the line at `at` is too long.
  bool add_lines(std::span<const std::byte> bytes, std::size_t& at, std::span<const std::uint32_t> ends,
                 std::vector<Extent>& records) const {
    const std::size_t base = at;
    const std::size_t before = records.size();
    records.resize(before + ends.size());
    Extent* out = records.data() + before;
    for (const std::uint32_t each : ends) {
      const std::size_t end = base + each;
      const std::size_t length = end - at - (end > at && bytes[end - 1] == std::byte{'\r'} ? 1 : 0);
      if (length > max_) [[unlikely]] {
        records.resize(static_cast<std::size_t>(out - records.data()));
        return false;
      }
      *out++ = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(length)};
      at = end + 1;
    }
    return true;
  }

  /// The line at `at` goes on after the limit of the scan, or to the end of `bytes`.
  Result<Scanned> end_at_limit(std::span<const std::byte> bytes, std::int64_t offset, std::size_t at, bool last,
                               std::vector<Extent>& records) const {
    const std::size_t left = bytes.size() - at;
    const std::size_t longest = max_ + 2;  // with its end
    const std::size_t end = line_end(bytes, at, at + std::min(left, longest)) - at;
    if (end == longest) return too_long(offset, at);
    if (end == left && !last) return Scanned{.consumed = at, .wanted = left + 1};
    const bool cut = end == left;  // the file ends this line
    const bool nothing = cut && (left == 0 || (left == 1 && bytes[at] == std::byte{'\r'}));
    const auto length = static_cast<std::uint32_t>(end);
    if (!nothing && !add_lines(bytes, at, {&length, 1}, records)) return too_long(offset, at);
    return Scanned{.consumed = cut ? bytes.size() : at};
  }

  [[nodiscard]] static Error no_text(std::string_view kind) {
    return {Code::data, Detail::invalid_argument, fmt::format("not a text file, but {}", kind), Place{.offset = 0}};
  }

  [[nodiscard]] Error too_long(std::int64_t offset, std::size_t at) const {
    return {Code::data, Detail::data_loss,
            fmt::format("a line has more than max_line_bytes, {}: is this a text file? Raise max_line_bytes if it is",
                        max_),
            Place{.offset = offset + static_cast<std::int64_t>(at)}};
  }

  const std::int64_t header_;
  const std::size_t max_;
};

Result<Source> bind_lines(const Lines& options, const BindContext& context) {
  FOREBAY_TRY(std::vector<std::string> files, source_files(options.files, context));
  return Source{.files = std::move(files),
                .compression = options.compression,
                .format = std::make_shared<LinesFormat>(options),
                .max_decompressed_bytes = options.max_decompressed_bytes,
                .verify_first = options.verify_first,
                .signature = fmt::format("lines skip_header_lines={} max_line_bytes={}", options.skip_header_lines,
                                         options.max_line_bytes),
                .record_key = options.record_key};
}

}  // namespace

SourceType lines() {
  return describe<SourceType, Lines>("lines", "Reads the lines of text files, without their ends.", bind_lines)
      .required("files", &Lines::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
      .field("compression", &Lines::compression,
             "How whole files are compressed; auto knows all but zlib by their first bytes; zlib must be named.")
      .field("skip_header_lines", &Lines::skip_header_lines, "Lines at the beginning of each file that are no records.",
             {.min = 0})
      .field("max_line_bytes", &Lines::max_line_bytes, "A longer line is an error, before memory is taken.",
             {.min = 1, .max = max_record_bytes / 2})
      .field("max_decompressed_bytes", &Lines::max_decompressed_bytes,
             "A compressed file that holds more than this is an error, once that many bytes were decompressed.",
             {.min = 1})
      .field("verify_first", &Lines::verify_first,
             "Compares the checksums of a compressed file before its first record is delivered, in the first pass of a "
             "run.")
      .field("record_key", &Lines::record_key, record_key_doc)
      .example({.options = R"({"files": ["in.txt"]})",
                .in = R"(["one\r\n\nthree", "four\n"])",
                .out = R"(["one", "", "three", "four"])"})
      .example({.options = R"({"files": ["in.csv"], "skip_header_lines": 1})",
                .in = R"(["x,y\n1,2\n3,4\n", "x,y\n"])",
                .out = R"(["1,2", "3,4"])"});
}

}  // namespace forebay::sources
