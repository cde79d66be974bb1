// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <forebay/error.h>

namespace forebay::steps {

/// The bits of one channel in a pixel of a BMP.
struct BmpMask {
  std::uint32_t bits = 0;
  int shift = 0;
  [[nodiscard]] std::uint8_t of(std::uint32_t pixel) const {
    const std::uint32_t max = bits >> shift;
    return static_cast<std::uint8_t>(max == 0 ? 0 : std::uint64_t{(pixel & bits) >> shift} * 255 / max);
  }
};

/// What the headers of a BMP say, checked against the number of its bytes.
struct BmpHeader {
  std::int64_t width = 0, height = 0;
  bool top_down = false;           ///< Its first row is the highest one.
  int bits = 24;                   ///< Of a pixel: 1, 4, 8, 16, 24 or 32.
  int run_bits = 0;                ///< 8 or 4: pixels are run-length encoded.
  std::uint64_t pixels = 0;        ///< Byte at which the pixels begin.
  std::uint64_t row_bytes = 0;     ///< With the padding; 0 with runs.
  std::array<BmpMask, 4> masks{};  ///< With 16 and 32 bits: red, green, blue, alpha; no bits: no alpha.
  std::vector<std::array<std::uint8_t, 3>> colors = {};  ///< With 1, 4 and 8 bits.
};

[[nodiscard]] Result<BmpHeader> read_bmp_header(std::span<const std::byte> bytes);

/// Decodes the runs of an image to one byte for each pixel, row by row as stored. Pixels that no run names are 0. Fails
/// when a run leaves the image, and when the bytes end before the end mark. `out` has width · height zeros.
[[nodiscard]] Result<void> read_bmp_runs(std::span<const std::byte> bytes, const BmpHeader& header,
                                         std::span<std::uint8_t> out);

}  // namespace forebay::steps
