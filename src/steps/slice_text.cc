// SPDX-License-Identifier: Apache-2.0
#include "steps/slice_text.h"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

namespace forebay::steps {

namespace {

constexpr std::string_view blanks = " \t\n\r\f\v";
constexpr std::size_t max_items = 4096;  // far more than the axes of a tensor, and cheap to hold
constexpr std::size_t max_shown = 100;

std::string shortened(std::string_view text) {
  return text.size() <= max_shown ? std::string{text} : std::string{text.substr(0, max_shown)} + "…";
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

Error fault(std::size_t column, std::string message) {
  return Error{Code::config, Detail::invalid_argument, fmt::format("column {}: {}", column, message)};
}

/// Parses one part of a range, or an index. `column` is the offset of `part` in the text, for messages.
Result<std::int64_t> read_integer(std::string_view part, std::size_t column) {
  if (const auto value = parse_integer(part)) return *value;
  const std::size_t first = part.find_first_not_of(blanks);
  if (first != std::string_view::npos) column += first;
  const std::string_view found = trimmed(part);
  const std::size_t digits = found.find_first_of("0123456789");
  if (digits <= 1 && found.find_first_not_of("0123456789", digits) == std::string_view::npos &&
      (digits == 0 || found[0] == '-' || found[0] == '+')) {
    return fault(column, fmt::format("{} does not fit a 64-bit integer", shortened(found)));
  }
  return fault(column, found.empty()
                           ? "expected an index like 3 or a range like 1:4, found nothing"
                           : fmt::format("expected an index like 3 or a range like 1:4, found '{}'", shortened(found)));
}

Result<SliceItem> read_item(std::string_view text, std::size_t column) {
  const std::size_t blank = text.find_first_not_of(blanks);
  SliceItem item{.column = static_cast<std::int64_t>(column + (blank == std::string_view::npos ? 0 : blank))};
  if (text.find(':') == std::string_view::npos) {
    FOREBAY_TRY(item.index, read_integer(text, column));
    return item;
  }
  std::optional<std::int64_t>* const parts[] = {&item.start, &item.stop, &item.step};
  std::size_t begin = 0;
  for (std::optional<std::int64_t>* part : parts) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    const std::string_view number = text.substr(begin, end - begin);
    if (!trimmed(number).empty()) {
      FOREBAY_TRY(*part, read_integer(number, column + begin));
    }
    if (end == text.size()) return item;
    begin = end + 1;
  }
  return fault(column + begin - 1, "a range has at most two colons, start:stop:step");
}

Result<std::vector<SliceItem>> read_items(std::string_view text) {
  if (!text.starts_with('[')) return fault(1, "expected '[' at the beginning");
  if (text.size() < 2 || !text.ends_with(']')) return fault(text.size() + 1, "expected ']' at the end");
  const std::string_view inside = text.substr(0, text.size() - 1);  // offsets stay those of the text
  std::vector<SliceItem> items;
  for (std::size_t begin = 1;;) {
    const std::size_t end = std::min(inside.find(',', begin), inside.size());
    if (items.size() == max_items) return fault(begin + 1, fmt::format("more than {} items", max_items));
    FOREBAY_TRY(items.emplace_back(), read_item(inside.substr(begin, end - begin), begin + 1));
    if (end == inside.size()) return items;
    begin = end + 1;
  }
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string slice_label(std::string_view text) { return fmt::format("slice '{}'", shortened(text)); }

Result<std::vector<SliceItem>> parse_slice(std::string_view text) { return read_items(text).at(slice_label(text)); }

}  // namespace forebay::steps
