// SPDX-License-Identifier: Apache-2.0
#include "steps/image/formats/pixel_rows.h"

#include <cstring>
#include <limits>

namespace forebay::steps {

namespace {

template <class Element>
Element gray_of(const Element* color) {
  if constexpr (sizeof(Element) == 1) return luminance(color[0], color[1], color[2]);
  return static_cast<Element>(
      (std::uint64_t{color[0]} * 19595 + std::uint64_t{color[1]} * 38470 + std::uint64_t{color[2]} * 7471 + 0x8000) >>
      16);
}

template <class Element>
void convert(const Element* in, int from, Element* out, int to, std::int64_t width) {
  constexpr Element opaque = std::numeric_limits<Element>::max();
  const bool colored = from >= 3;
  const bool alpha = from == 2 || from == 4;
  for (std::int64_t x = 0; x < width; ++x, in += from, out += to) {
    const Element covered = alpha ? in[from - 1] : opaque;
    if (to >= 3) {
      const Element color[3] = {in[0], colored ? in[1] : in[0], colored ? in[2] : in[0]};
      for (int c = 0; c < 3; ++c) out[c] = color[c];
    } else {
      out[0] = colored ? gray_of(in) : in[0];
    }
    if (to == 2 || to == 4) out[to - 1] = covered;
  }
}

}  // namespace

void convert_channels(const std::byte* in, int from, std::byte* out, int to, bool wide, std::int64_t width) {
  if (from == to) {
    std::memcpy(out, in, static_cast<std::size_t>(width * from * (wide ? 2 : 1)));
  } else if (wide) {
    convert(reinterpret_cast<const std::uint16_t*>(in), from, reinterpret_cast<std::uint16_t*>(out), to, width);
  } else {
    convert(reinterpret_cast<const std::uint8_t*>(in), from, reinterpret_cast<std::uint8_t*>(out), to, width);
  }
}

}  // namespace forebay::steps
