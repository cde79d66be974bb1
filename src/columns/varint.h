// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "columns/wire.h"

namespace forebay::columns {

/// Joins the low 7 bits of each of 8 bytes; the top bits must be 0.
[[nodiscard]] constexpr std::uint64_t join_sevens(std::uint64_t word) {
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

/// Decodes one varint that is exactly `size` bytes long; false when the bytes are anything else. Always reads 8 bytes.
[[nodiscard]] inline bool varint_of_size(const std::uint8_t* at, std::size_t size, std::uint64_t& value) {
  constexpr std::uint64_t tops = 0x8080808080808080;
  if (size - 1 >= 8) {
    Wire wire{at, at + size};
    return size != 0 && read_varint(wire, value) && wire.empty();
  }
  const std::uint64_t kept = ~std::uint64_t{0} >> (64 - 8 * size);
  const std::uint64_t word = load64(at) & kept;
  value = join_sevens(word & ~tops);
  return (word & tops) == (tops & kept >> 8);
}

}  // namespace forebay::columns
