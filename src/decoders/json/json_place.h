// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include <forebay/error.h>

namespace forebay::decoders {

/// Line and column of a byte in a text, from 1. Columns count characters of UTF-8.
[[nodiscard]] inline Place place_of(std::string_view text, std::size_t offset) {
  Place out{.line = 1, .column = 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n')
      ++out.line, out.column = 1;
    else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
      ++out.column;  // continuation bytes of a character do not count
  }
  return out;
}

}  // namespace forebay::decoders
