// SPDX-License-Identifier: Apache-2.0
#include <forebay/printable.h>

#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace forebay {

namespace {

/// The letter of two or three bytes at the beginning that a terminal acts on, or 0: control letters beyond ASCII, ends
/// of lines, and letters without width that join words or turn their direction.
std::uint32_t acting_letter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0U; };
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return byte(1);
  if (byte(0) == 0xEF && byte(1) == 0xBB && byte(2) == 0xBF) return 0xFEFF;
  if (byte(0) != 0xE2 || (byte(1) != 0x80 && byte(1) != 0x81) || byte(2) < 0x80 || byte(2) > 0xBF) return 0;
  const std::uint32_t code = 0x2000 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  const bool acts = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) || code >= 0x2060;
  return acts && code <= 0x206F ? code : 0;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<std::uint8_t>(text.front());
    if (const std::uint32_t letter = acting_letter(text)) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:04x}}}", letter);
      text.remove_prefix(letter < 0xA0 ? 2 : 3);
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
