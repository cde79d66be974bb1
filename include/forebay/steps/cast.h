// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <forebay/dtype.h>
#include <forebay/field_types.h>

namespace forebay {

/// What becomes of a value outside the range of the new type.
enum class OutOfRange : std::uint8_t { wrap, error };
template <>
struct EnumNames<OutOfRange> {
  static constexpr std::array<std::string_view, 2> names{"wrap", "error"};
};

/// Changes the element type of one tensor. Floats become integers by truncation toward zero. Every value but zero
/// becomes true. Floats are rounded to the nearest, ties to even.
struct Cast {
  TensorName tensor;             ///< Tensor to convert. Not of strings.
  DType dtype = DType::float32;  ///< New type. Not string.
  /// wrap: integers lose their high bits, floats outside an integer's range become its smallest value, outside a
  /// float's range infinity, as `tf.cast` and numpy do. error: a fault of the row, also for a NaN that becomes an
  /// integer.
  OutOfRange out_of_range = OutOfRange::wrap;
};

}  // namespace forebay
