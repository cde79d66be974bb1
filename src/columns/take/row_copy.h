// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <forebay/column.h>
#include <forebay/rows.h>

/// Copies rows of row blocks (forebay/rows.h) into columns. Reads only the elements, never past the last one.
namespace forebay::columns {

/// Whether rows of `bytes` bytes follow one another without gaps, in this machine's byte order.
[[nodiscard]] inline bool contiguous(const RowColumn& from, std::size_t bytes) {
  return from.strides.empty() && from.row_stride == static_cast<std::int64_t>(bytes);
}

/// Copies `count` rows of numbers of a known shape to `out`, row-major. Without `contiguous`, `count` must be 1.
void copy_fixed(const RowColumn& from, std::int64_t row, std::size_t count, DType dtype, const Shape& shape,
                std::byte* out);

/// Appends a row of strings, or of numbers to a column with unknown dims. `shape` is that of the rows in `from`; it may
/// have sizes where the column's shape has unknown dims.
void append_row(const RowColumn& from, std::int64_t row, const Shape& shape, Column& to);

/// The bytes of all elements of a row block.
[[nodiscard]] std::int64_t bytes_of(const Schema& schema, const RowBlock& block);

/// A view of the rows of a column. The column must stay as it is while the view is used.
[[nodiscard]] RowColumn view_of(const Column& column);

}  // namespace forebay::columns
