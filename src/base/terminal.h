// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Control letters beyond ASCII, ends of lines, and letters that turn the direction of the text after them. Letters
/// without width that leave the rest of a line alone (joiners, a byte order mark) are shown as they are.
[[nodiscard]] constexpr bool acts_on_terminal(std::uint32_t code) {
  return (code >= 0x80 && code < 0xa0) || code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x206f);
}

}  // namespace forebay
