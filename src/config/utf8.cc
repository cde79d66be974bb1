// SPDX-License-Identifier: Apache-2.0
#include "config/utf8.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/core.h>

#include <forebay/messages.h>

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

std::string quote(std::string_view text) {
  constexpr int longest = 80;
  std::string out = "'";
  for (int shown = 0; !text.empty(); ++shown) {
    if (shown == longest) {
      out += "…";
      break;
    }
    const auto byte = static_cast<std::uint8_t>(text.front());
    const std::size_t length = config::utf8_length(text);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + "'";
}

}  // namespace forebay
