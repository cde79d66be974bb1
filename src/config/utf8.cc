// SPDX-License-Identifier: Apache-2.0
#include "config/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include <fmt/core.h>

#include <forebay/messages.h>
#include <forebay/printable.h>

#include "base/terminal.h"

namespace forebay {
namespace config {

namespace {

struct Lead {
  std::size_t length;     // of the whole character
  std::uint8_t min, max;  // of the second byte: this excludes overlong forms and surrogates
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = lead_of(static_cast<std::uint8_t>(text[0]));
  if (lead.length <= 1) return lead.length;
  if (text.size() < lead.length) return 0;
  const auto second = static_cast<std::uint8_t>(text[1]);
  if (second < lead.min || second > lead.max) return 0;
  for (std::size_t i = 2; i < lead.length; ++i) {
    if ((static_cast<std::uint8_t>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return lead.length;
}

std::size_t utf8_valid_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (at + sizeof(std::uint64_t) <= text.size()) {  // eight ASCII bytes at a time
      std::uint64_t word;
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & 0x8080808080808080) != 0) break;
      at += sizeof(word);
    }
    if (at == text.size()) break;
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return at;
}

std::size_t utf8_broken_length(std::string_view text) {
  const Lead lead = lead_of(static_cast<std::uint8_t>(text[0]));
  std::size_t length = 1;
  for (; length < std::min(lead.length, text.size()); ++length) {
    const auto byte = static_cast<std::uint8_t>(text[length]);
    const bool follows = length == 1 ? byte >= lead.min && byte <= lead.max : (byte & 0xc0) == 0x80;
    if (!follows) break;
  }
  return length;
}

}  // namespace config

namespace {

/// The letter that `length` bytes encode.
std::uint32_t code_point(std::string_view letter) {
  const auto lead = static_cast<std::uint8_t>(letter[0]);
  if (letter.size() < 2) return lead;
  std::uint32_t code = lead & (0xffU >> (letter.size() + 1));
  for (const char byte : letter.substr(1)) code = code << 6 | (static_cast<std::uint8_t>(byte) & 0x3fU);
  return code;
}

/// The text on one line, cut; `cautious`: letters that act on a terminal are escapes, too.
std::string on_one_line(std::string_view text, std::size_t longest, bool cautious) {
  std::string out;
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == longest) {
      out += "…";
      break;
    }
    const auto byte = static_cast<std::uint8_t>(text.front());
    const std::size_t length = config::utf8_length(text);
    const std::string_view letter = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else if (cautious && acts_on_terminal(code_point(letter))) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:04x}}}", code_point(letter));
    } else {
      out += letter;
    }
    text.remove_prefix(letter.size());
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) { return on_one_line(text, longest, true); }

std::string visible_json(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const std::string_view letter = json.substr(0, std::max<std::size_t>(config::utf8_length(json), 1));
    const std::uint32_t code = code_point(letter);
    if (letter.size() < 2 || !acts_on_terminal(code)) {
      out += letter;
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
    }
    json.remove_prefix(letter.size());
  }
  return out;
}

std::string quote(std::string_view text) { return "'" + on_one_line(text, 80, false) + "'"; }

}  // namespace forebay
