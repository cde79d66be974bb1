// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace forebay::test {

/// The bytes of a string in a worked example: "base64:…" stands for bytes that JSON cannot hold.
[[nodiscard]] inline std::string example_bytes(const std::string& text) {
  constexpr std::string_view prefix = "base64:";
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (!text.starts_with(prefix)) return text;
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char digit : std::string_view{text}.substr(prefix.size())) {
    const std::size_t value = digits.find(digit);
    if (value == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>(bits >> held));
  }
  return out;
}

}  // namespace forebay::test
