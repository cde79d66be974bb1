// SPDX-License-Identifier: Apache-2.0
#include "sources/csv/header.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "io/awaited_file.h"
#include "io/inflate.h"
#include "sources/detect.h"

namespace forebay::sources {
namespace {

constexpr std::size_t read_at_once = std::size_t{64} << 10;
constexpr std::size_t max_names = 100'000;

Error lost(std::string message, std::size_t offset) {
  return {Code::data, Detail::data_loss, std::move(message), Place{.offset = static_cast<std::int64_t>(offset)}};
}

/// By its byte order mark, or because every other byte of the first four is zero.
bool is_utf16(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return true;
  if (text.size() < 4) return false;
  const auto zero = [&](std::size_t i) { return text[i] == '\0'; };
  return zero(0) != zero(1) && zero(0) == zero(2) && zero(1) == zero(3);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The next bytes of a file, decompressed.
class HeaderContent {
 public:
  static Result<HeaderContent> open(const io::RandomAccessFile& file, Compression asked, const Format& format) {
    FOREBAY_TRY(const Compression compression, compression_of(file, asked, format));
    HeaderContent out{file};
    if (compression != Compression::none) {
      FOREBAY_TRY(out.inflater_, io::Inflater::make(compression));
    }
    return out;
  }
  /// Appends bytes. Returns whether the file ends after them.
  Result<bool> read(std::vector<std::byte>& bytes) {
    const std::size_t old = bytes.size();
    bytes.resize(old + std::max(read_at_once, old / 4));
    const auto out = std::span{bytes}.subspan(old);
    auto count = inflater_ ? inflater_->read(file_, out) : file_.read(out, static_cast<std::int64_t>(old));
    bytes.resize(old + (count.ok() ? *count : 0));
    if (!count.ok()) return count.error();
    return inflater_ ? inflater_->ended() : *count < out.size();
  }

 private:
  explicit HeaderContent(const io::RandomAccessFile& file) : file_{file} {}

  const io::AwaitedFile file_;
  std::optional<io::Inflater> inflater_;
};

}  // namespace

CsvHeader::CsvHeader(const Csv& options, const CsvRules& rules)
    : rules_{rules},
      lines_{options.skip_header_lines},
      row_{options.header},
      max_{static_cast<std::size_t>(options.max_record_bytes)} {}

/// Where the header row begins, or the first record if there is none.
std::optional<std::size_t> CsvHeader::begin(std::span<const std::byte> bytes, bool last) const {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  constexpr std::size_t enough = 4;  // to know the encoding
  const std::string_view text = text_of(bytes);
  if (text.size() < enough && !last) return std::nullopt;
  std::size_t at = text.starts_with(mark) ? mark.size() : 0;
  for (std::int64_t line = 0; line < lines_; ++line) {
    const std::size_t feed = text.find('\n', at);
    if (feed == std::string_view::npos) return last ? std::optional{text.size()} : std::nullopt;
    at = feed + 1;
  }
  return at;
}

Result<std::vector<std::string>> CsvHeader::names_in(std::span<const std::byte> record, std::size_t offset) const {
  std::string_view rest = text_of(record);
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  if (rest.empty()) return lost("the header row is empty", offset);
  if (rest.find('\r') != std::string_view::npos && rest.find('"') == std::string_view::npos)
    return lost(
        "a CR without an LF behind it: the lines of the file seem to end with CR alone; convert it, "
        "for example with tr '\\r' '\\n'",
        offset);
  std::vector<std::string> names;
  split_fields(rest, rules_, max_names, names);
  if (names.size() > max_names) return lost(fmt::format("the header row has more than {} fields", max_names), offset);
  return names;
}

Result<void> CsvHeader::compare(const std::vector<std::string>& names, std::size_t offset) const {
  const auto& expected = *names_;
  if (names.size() != expected.size())
    return lost(fmt::format("the header row has {} fields, and that of '{}' has {}; read the files apart", names.size(),
                            first_, expected.size()),
                offset);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == expected[i]) continue;
    return lost(fmt::format("field {} of the header row is {}, and that of '{}' is {}; read the files apart", i,
                            quote(names[i]), first_, quote(expected[i])),
                offset);
  }
  return {};
}

Result<std::optional<std::size_t>> CsvHeader::end(std::span<const std::byte> bytes, bool last) const {
  using Found = std::optional<std::size_t>;
  if (is_utf16(text_of(bytes.first(std::min<std::size_t>(bytes.size(), 4)))))
    return lost(
        "the file is UTF-16, and this source reads UTF-8 and other encodings that extend ASCII; convert it, for "
        "example with iconv -f UTF-16 -t UTF-8",
        0);
  const auto row = begin(bytes, last);
  if (!row || !row_) return row;
  const auto rest = bytes.subspan(*row);
  const RecordEnd found = end_of_record(rest, rules_);
  if (found.at > max_) return lost("the header row has more than max_record_bytes", *row);
  if (found.at == rest.size() && !last) return Found{};
  if (found.quote) return lost("the file ends in a quoted field that begins here", *row + *found.quote);
  if (last && rest.empty() && bytes.empty()) return Found{0};  // an empty file has no header and no records
  FOREBAY_TRY(const std::vector<std::string> names, names_in(rest.first(found.at), *row));
  if (names_) FOREBAY_DO(compare(names, *row));
  return Found{std::min(*row + found.at + 1, bytes.size())};
}

Result<std::vector<std::string>> CsvHeader::read(const io::RandomAccessFile& file, Compression compression,
                                                 const Format& format) const {
  FOREBAY_TRY(HeaderContent content, HeaderContent::open(file, compression, format));
  std::vector<std::byte> bytes;
  while (true) {
    FOREBAY_TRY(const bool last, content.read(bytes));
    FOREBAY_TRY(const std::optional<std::size_t> found, end(bytes, last));
    if (!found) continue;
    if (bytes.empty()) return lost("the file is empty and has no header row", 0);
    const auto row = std::span<const std::byte>{bytes}.subspan(*begin(bytes, last));
    return names_in(row.first(end_of_record(row, rules_).at), 0);
  }
}

}  // namespace forebay::sources
