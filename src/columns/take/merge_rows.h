// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forebay/column.h>

/// Merges the rows of several columns into one.
namespace forebay::columns {

/// Rows of one column, and where each goes.
struct MergedRows {
  const Column* column = nullptr;      ///< Null: its rows are filled.
  std::span<const std::int64_t> rows;  ///< Ascending: the number of each row in the result.
};

/// The numbers of the rows that the result has.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Fills `to` with the rows `range` of the result; each of them is in one of `from`. A fixed numeric column has its
/// rows already; others are empty and are appended to. `fill` is one element: a filled row has it in every place where
/// the shape is known, and no element in unknown dims. Polls `check` during long copies.
void merge_rows(std::span<const MergedRows> from, const RowRange& range, std::span<const std::byte> fill, Column& to,
                const StopCheck& check);

}  // namespace forebay::columns
