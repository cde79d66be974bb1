// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::steps {

/// Luminance of 8-bit colors: 0.299 red, 0.587 green, 0.114 blue, rounded.
[[nodiscard]] constexpr std::uint8_t luminance(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
  return static_cast<std::uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

/// Turns a row of pixels with `from` channels into one with `to` channels, each 1 … 4: 1 is gray, 2 gray and alpha, 3
/// colors, 4 colors and alpha. Alpha is dropped, not blended; where it is missing it is opaque. `wide`: 16 bits.
void convert_channels(const std::byte* in, int from, std::byte* out, int to, bool wide, std::int64_t width);

}  // namespace forebay::steps
