// SPDX-License-Identifier: Apache-2.0
#include <forebay/printable.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "base/terminal.h"

namespace forebay {

namespace {

/// The letter of two or three bytes at the beginning if a terminal acts on it, else 0. No longer letter does.
std::uint32_t acting_letter(std::string_view text) {
  const auto lead = static_cast<std::uint8_t>(text.front());
  const std::size_t length = lead >= 0xC0 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : 0;
  if (length == 0 || length > text.size()) return 0;
  std::uint32_t code = lead & (0xFFU >> (length + 1));
  for (const char next : text.substr(1, length - 1)) {
    const auto byte = static_cast<std::uint8_t>(next);
    if ((byte & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3FU);
  }
  const bool shortest = code >= (length == 2 ? 0x80U : 0x800U);
  return shortest && acts_on_terminal(code) ? code : 0;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<std::uint8_t>(text.front());
    if (const std::uint32_t letter = acting_letter(text)) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:04x}}}", letter);
      text.remove_prefix(letter < 0x800 ? 2 : 3);
      continue;
    }
    if ((byte < 0x20 && byte != '\n') || byte == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += text.front();
    }
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace forebay
