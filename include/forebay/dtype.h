// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace forebay {

/// Element types. `string` elements are byte strings of any length and content.
enum class DType : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,   ///< Real and imaginary part, each a float32.
  complex128,  ///< Real and imaginary part, each a float64.
  string,
};

/// "bool", "int32", "bfloat16", …; the names used in documents and by numpy.
[[nodiscard]] std::string_view to_string(DType dtype);
/// The names of all types, in the order of the enumerators.
[[nodiscard]] std::span<const std::string_view> dtype_names();

/// The type of that name, or nothing.
[[nodiscard]] std::optional<DType> dtype_from(std::string_view name);

/// Bytes of one element; 0 for strings, whose elements differ.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::int8:
    case DType::uint8:
      return 1;
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::int32:
    case DType::uint32:
    case DType::float32:
      return 4;
    case DType::int64:
    case DType::uint64:
    case DType::float64:
    case DType::complex64:
      return 8;
    case DType::complex128:
      return 16;
    case DType::string:
      return 0;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_float(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 || dtype == DType::float64;
}

/// Complex numbers come from raw bytes only, and no step computes with them.
[[nodiscard]] constexpr bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }

/// True for every signed and unsigned integer, not for bool.
[[nodiscard]] constexpr bool is_integer(DType dtype) {
  return !is_float(dtype) && !is_complex(dtype) && dtype != DType::boolean && dtype != DType::string;
}

}  // namespace forebay
