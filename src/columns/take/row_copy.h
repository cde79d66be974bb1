// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/column.h>
#include <forebay/rows.h>

/// Copies rows of row blocks (forebay/rows.h) into columns that grow; StridedRows copies those of a known size. Reads
/// only the elements, never past the last one.
namespace forebay::columns {

/// Appends a row of strings, or of numbers to a column with unknown dims. `shape` is that of the rows in `from`; it may
/// have sizes where the column's shape has unknown dims.
void append_row(const RowColumn& from, std::int64_t row, const Shape& shape, Column& to);

/// Appends the sizes of a row to a column with unknown dims, without its elements.
void append_sizes(const RowColumn& from, std::int64_t row, Column& to);

/// The bytes of all elements of a row block.
[[nodiscard]] std::int64_t bytes_of(const Schema& schema, const RowBlock& block);

/// A view of the rows of a column. The column must stay as it is while the view is used.
[[nodiscard]] RowColumn view_of(const Column& column);

}  // namespace forebay::columns
