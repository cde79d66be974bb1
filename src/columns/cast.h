// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include <forebay/dtype.h>

namespace forebay::columns {

/// Converts `count` elements; no type may be string. The arrays must not overlap.
///
/// Floats become integers by truncation toward zero; integers wrap. A value outside the range of a 64-bit integer (for
/// short types: 32-bit) becomes the smallest one, as on x86. Every value except zero is true. Floats round to nearest,
/// ties to even.
void cast(const std::byte* in, DType from, std::byte* out, DType to, std::size_t count);

/// The first of `count` elements whose value is outside the range of type `to`: an integer type does not hold it after
/// truncation toward zero, or a float type makes a finite number infinite. A NaN is outside every integer type; all is
/// inside bool. No type may be string.
[[nodiscard]] std::optional<std::size_t> first_out_of_range(const std::byte* in, DType from, DType to,
                                                            std::size_t count);

}  // namespace forebay::columns
