// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "decoders/csv/fields.h"

/// From digits to the value that is nearest to them, where one operation of the processor rounds it.
namespace forebay::decoders {

inline constexpr std::size_t max_digits = 15;  ///< Fewer than 2^53 as an integer.

/// The number -value / 10^decimals, or without the sign.
struct Digits {
  std::uint64_t value = 0;
  unsigned decimals = 0;
  bool negative = false;
};

/// Powers of ten that a float holds exactly.
inline constexpr std::array<float, 11> float_powers{1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F, 1e8F, 1e9F, 1e10F};
inline constexpr std::array<double, 16> double_powers{1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/// Both operands are exact, so the quotient is rounded once.
[[gnu::always_inline]] inline double nearest_double(const Digits& digits) {
  const double size = static_cast<double>(static_cast<std::int64_t>(digits.value)) / double_powers[digits.decimals];
  return digits.negative ? -size : size;
}

/// False: the float is not known to be the nearest one.
[[gnu::always_inline]] inline bool nearest_float(const Digits& digits, float& out) {
  if (digits.value < std::uint64_t{1} << 24 && digits.decimals < float_powers.size()) [[likely]] {
    const float size = static_cast<float>(static_cast<std::int32_t>(digits.value)) / float_powers[digits.decimals];
    out = digits.negative ? -size : size;
    return true;
  }
  // The double was rounded; if it is exactly between two floats, the number may be on either side of it.
  const double wide = nearest_double(digits);
  constexpr std::uint64_t below_float = (std::uint64_t{1} << 29) - 1;
  if ((std::bit_cast<std::uint64_t>(wide) & below_float) == std::uint64_t{1} << 28) return false;
  out = static_cast<float>(wide);
  return true;
}

template <class T>
[[gnu::always_inline]] inline void put_value(const CsvTarget& target, std::size_t row, T value) {
  std::memcpy(target.values + row * sizeof(T), &value, sizeof(T));
}

/// Writes the number as the target's kernel says. False: another way has to read it.
[[gnu::always_inline]] inline bool write_digits(const Digits& digits, const CsvTarget& target, std::size_t row) {
  const auto number = static_cast<std::int64_t>(digits.value);
  switch (target.kernel) {
    case CsvKernel::float32: {
      float value = 0;
      if (!nearest_float(digits, value)) return false;
      put_value(target, row, value);
      return true;
    }
    case CsvKernel::float64:
      put_value(target, row, nearest_double(digits));
      return true;
    case CsvKernel::int32:
      if (number > std::numeric_limits<std::int32_t>::max()) return false;
      put_value(target, row, static_cast<std::int32_t>(digits.negative ? -number : number));
      return true;
    case CsvKernel::int64:
      put_value(target, row, digits.negative ? -number : number);
      return true;
    default:
      return false;
  }
}

}  // namespace forebay::decoders
