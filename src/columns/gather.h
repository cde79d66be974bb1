// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forebay/column.h>

/// Brings the rows of several columns of one spec ("pieces": what the tickets of a batch made) together.
namespace forebay::columns {

using Pieces = std::span<const Column* const>;

/// Number of elements, and of string bytes, of all pieces.
struct Extents {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};
[[nodiscard]] Extents extents(Pieces pieces);

/// The largest size of each unknown dim over all rows; 0 when there are none.
[[nodiscard]] std::vector<std::int64_t> largest_sizes(Pieces pieces);

/// The first row whose sizes differ from those of row 0, or -1.
[[nodiscard]] std::int64_t first_unequal(Pieces pieces);

/// The sizes of all rows, [rows, unknown dims], to `out`.
void copy_sizes(Pieces pieces, std::int64_t* out);

/// Elements of all pieces, one after the other; strings as splits ([elements + 1], from 0) and bytes.
void concatenate(Pieces pieces, std::byte* out);
void concatenate_strings(Pieces pieces, std::int64_t* splits, std::byte* bytes);

/// Running element counts of all rows, [rows + 1], from 0: row splits of a column with one unknown dim.
void concatenate_splits(Pieces pieces, std::int64_t* out);

/// Writes every row as an array of `shape` (no size smaller than a row's), filled up at the high side of each axis.
void pad(Pieces pieces, const Shape& shape, std::span<const std::byte> filler, std::byte* out);
/// The same for strings: appends to a column of `shape` rows.
void pad_strings(Pieces pieces, const Shape& shape, std::span<const std::byte> filler, Column& out);

}  // namespace forebay::columns
