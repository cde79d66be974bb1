// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <forebay/column.h>

namespace forebay::columns {

/// Writes `element` to `out`, `count` times in a row.
void fill(std::byte* out, std::span<const std::byte> element, std::size_t count);

/// Appends the string `element` to `out`, `count` times. The caller ends the rows.
void fill_strings(Column& out, std::span<const std::byte> element, std::size_t count);

/// Gives the variable column `out` the rows of `in`, sizes and splits, but no elements. Both have the same unknown
/// dims.
void copy_rows(const Column& in, Column& out);

}  // namespace forebay::columns
