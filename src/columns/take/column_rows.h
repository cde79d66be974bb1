// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <forebay/column.h>

/// Rows of columns as a whole: cut off, appended, left out. Companion columns (Column::parts) follow.
namespace forebay::columns {

/// A column of the same kind without rows.
[[nodiscard]] Column empty_like(const Column& column);

/// Drops the rows from `rows` on.
void truncate(Column& column, std::int64_t rows);

/// Appends `count` rows of zeros or empty strings, whose unknown dims have the sizes `unknown_sizes`.
void append_blank(Column& column, std::int64_t count, std::span<const std::int64_t> unknown_sizes);
/// The same with 0 in the unknown dims.
void append_blank(Column& column, std::int64_t count);

/// Appends the rows `first` … `end` - 1 of a column of the same kind.
void append_rows(const Column& from, std::int64_t first, std::int64_t end, Column& to);

/// Leaves out the rows in `rows`, which are in ascending order.
void remove_rows(Column& column, std::span<const std::int64_t> rows);

/// Makes `view` a view of the rows `first` … `first` + `count` - 1 of `column`, which must outlive it and stay as it
/// is. A column without companions only. The view's splits of strings do not begin with 0.
void view_rows(Column& column, std::int64_t first, std::int64_t count, Column& view);

}  // namespace forebay::columns
