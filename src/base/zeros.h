// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace forebay {

/// The number of zeros at the beginning of the bytes.
[[nodiscard]] inline std::size_t leading_zeros(std::span<const std::byte> bytes) {
  std::size_t at = 0;
  std::uint64_t words[4];
  for (; at + sizeof(words) <= bytes.size(); at += sizeof(words)) {
    std::memcpy(words, bytes.data() + at, sizeof(words));
    if ((words[0] | words[1] | words[2] | words[3]) != 0) break;
  }
  while (at < bytes.size() && bytes[at] == std::byte{0}) ++at;
  return at;
}

}  // namespace forebay
