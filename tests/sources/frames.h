// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "sources/frame.h"
#include "tests/io/files.h"

/// TFRecord bytes by hand.
namespace forebay::tests {

inline std::string number(std::uint64_t value, std::size_t size) {
  std::string out(size, '\0');
  std::memcpy(out.data(), &value, size);
  return out;
}

/// A header with a right checksum, for any length.
inline std::string header(std::uint64_t length) {
  return number(length, 8) + number(sources::length_checksum(length), 4);
}

/// One record. A template, so that a list in braces is always several.
template <std::convertible_to<std::string_view> Text>
std::string framed(const Text& record) {
  const std::string_view text{record};
  return header(text.size()) + std::string{text} + number(columns::masked_crc32c(bytes_of(text)), 4);
}

inline std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) out += framed<std::string>(record);
  return out;
}

}  // namespace forebay::tests
