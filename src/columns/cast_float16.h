// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

/// The two 16-bit floats, as numbers that convert to and from float and double. Rounds to nearest, ties to even.
namespace forebay::columns {

/// IEEE 754 binary16.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  explicit Float16(double value) : bits{rounded(std::bit_cast<std::uint64_t>(value))} {}

  explicit operator float() const {
    const std::uint32_t sign = (bits & 0x8000U) << 16;
    const std::uint32_t rest = bits & 0x7fffU;
    if (rest >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (rest & 0x3ffU) << 13);
    if (rest < 0x400U) {  // zero or subnormal: a multiple of 2^-24
      const float size = static_cast<float>(rest) * 0x1p-24F;
      return sign != 0 ? -size : size;
    }
    return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000U));
  }

 private:
  /// Straight from double: going through float would round twice.
  static constexpr std::uint16_t rounded(std::uint64_t value) {
    const auto sign = static_cast<std::uint16_t>(value >> 48 & 0x8000U);
    const std::uint64_t size = value & 0x7fff'ffff'ffff'ffffU;
    if (size > 0x7ff0'0000'0000'0000U) return static_cast<std::uint16_t>(sign | 0x7e00U);   // nan
    if (size >= 0x40ef'fe00'0000'0000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65520 and more
    const auto exponent = static_cast<int>(size >> 52) - 1023;
    if (exponent < -25) return sign;
    const int dropped = exponent < -14 ? 42 + (-14 - exponent) : 42;
    const std::uint64_t mantissa = (size & 0xf'ffff'ffff'ffffU) | 0x10'0000'0000'0000U;
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    const std::uint64_t odd = mantissa >> dropped & 1U;
    const std::uint64_t kept = (mantissa + half - 1 + odd) >> dropped;
    // The leading one adds itself to the exponent, and so does a carry out of the mantissa.
    const std::uint64_t base = exponent < -14 ? 0 : static_cast<std::uint64_t>(exponent + 14) << 10;
    return static_cast<std::uint16_t>(sign | (base + kept));
  }
};

/// The upper half of a float.
struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;
  explicit Bfloat16(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const bool nan = (whole & 0x7fff'ffffU) > 0x7f80'0000U;
    bits = static_cast<std::uint16_t>(nan ? (whole >> 16 | 0x40U) : (whole + 0x7fffU + (whole >> 16 & 1U)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace forebay::columns
