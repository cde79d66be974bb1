// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace forebay {

namespace {

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The value of a digit; 64 for any other character.
std::uint32_t digit_value(char digit) {
  if (digit >= 'A' && digit <= 'Z') return static_cast<std::uint32_t>(digit - 'A');
  if (digit >= 'a' && digit <= 'z') return static_cast<std::uint32_t>(digit - 'a' + 26);
  if (digit >= '0' && digit <= '9') return static_cast<std::uint32_t>(digit - '0' + 52);
  return digit == '+' ? 62 : digit == '/' ? 63 : 64;
}

}  // namespace

std::string to_base64(std::span<const std::byte> bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < count ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? base64_digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::size_t digits = text.size() - padding;
  std::vector<std::byte> out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const std::uint32_t value = digit_value(text[i]);
    if (value > 63) return std::nullopt;
    bits = bits << 6 | value;
    if (i % 4 > 0) out.push_back(static_cast<std::byte>(bits >> (6 - 2 * (i % 4))));
  }
  const std::uint32_t unused = padding == 2 ? 15 : padding == 1 ? 3 : 0;  // bits after the last byte, which are 0
  if ((bits & unused) != 0) return std::nullopt;
  return out;
}

}  // namespace forebay
