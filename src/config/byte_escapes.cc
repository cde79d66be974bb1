// SPDX-License-Identifier: Apache-2.0
#include "config/byte_escapes.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "config/utf8.h"

namespace forebay::config {

namespace {

constexpr std::size_t escape_bytes = 6;  // "\u" and four digits
constexpr std::string_view replacement = "\\ufffd";

/// The number of an escape such as "\u00e9"; nothing when it is none.
std::optional<unsigned> number_of(std::string_view text) {
  if (text.size() < escape_bytes || !text.starts_with("\\u")) return std::nullopt;
  unsigned out = 0;
  const char* const end = text.data() + escape_bytes;
  const auto read = std::from_chars(text.data() + 2, end, out, 16);
  return read.ptr == end ? std::optional{out} : std::nullopt;
}

}  // namespace

std::optional<char> byte_of_escape(std::string_view text) {
  const auto number = number_of(text);
  if (!number || *number < 0xdc80 || *number > 0xdcff) return std::nullopt;
  return static_cast<char>(*number & 0xff);
}

bool begins_pair(std::string_view text) {
  const auto number = number_of(text);
  return number && *number >= 0xd800 && *number < 0xdc00;
}

void append_escape(unsigned char byte, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\\udc{:02x}", byte);
}

std::size_t ByteEscapes::take(std::string& text, std::size_t offset) {
  const std::string_view rest = std::string_view{text}.substr(offset);
  if (begins_pair(rest)) return number_of(rest.substr(escape_bytes)) ? 2 * escape_bytes : escape_bytes;
  const auto byte = byte_of_escape(rest);
  if (!byte) return 2;
  all_.push_back({.offset = offset, .byte = *byte});
  text.replace(offset, escape_bytes, replacement);
  return escape_bytes;
}

std::string ByteEscapes::restore(std::string_view text, std::size_t begin, std::size_t end,
                                 std::string_view value) const {
  auto next = std::lower_bound(all_.begin(), all_.end(), begin,
                               [](const ByteEscape& escape, std::size_t at) { return escape.offset < at; });
  if (next == all_.end() || next->offset >= end) return std::string{value};
  std::string out;
  const auto copy = [&](std::size_t bytes) {
    out += value.substr(0, bytes);
    value.remove_prefix(std::min(bytes, value.size()));
  };
  for (std::size_t at = begin + 1; at + 1 < end;) {  // without the quotes
    const std::string_view rest = text.substr(at);
    if (next != all_.end() && next->offset == at) {
      out += (next++)->byte;
      value.remove_prefix(std::min(utf8_length(value), value.size()));
      at += escape_bytes;
    } else if (rest.starts_with("\\u")) {
      copy(utf8_length(value));
      at += begins_pair(rest) ? 2 * escape_bytes : escape_bytes;
    } else {
      copy(1);
      at += rest.starts_with('\\') ? 2 : 1;
    }
  }
  return out;
}

}  // namespace forebay::config
