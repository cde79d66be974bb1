// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forebay/column.h>

/// Joins the rows of several columns of one spec ("pieces": the columns that the tickets of a batch made).
namespace forebay::columns {

using Pieces = std::span<const Column* const>;

/// The number of elements, and of string bytes, of all pieces.
struct Extents {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};
[[nodiscard]] Extents extents(Pieces pieces);

/// The largest size of each unknown dim over all rows; 0 when there are none.
[[nodiscard]] std::vector<std::int64_t> largest_sizes(Pieces pieces);

/// The first row whose sizes differ from those of row 0, or -1.
[[nodiscard]] std::int64_t first_unequal(Pieces pieces);

/// Copies bytes. Polls `check` between blocks of a long copy.
void copy_bytes(std::span<const std::byte> in, std::byte* out, const StopCheck* check = nullptr);

/// Writes the sizes of all rows, [rows, unknown dims], to `out`. Returns the place of the next piece's sizes.
std::int64_t* copy_sizes(const Column& piece, std::int64_t* out);

/// Writes all elements to `out`. Returns the place of the next piece's elements.
std::byte* copy_values(const Column& piece, std::byte* out, const StopCheck* check = nullptr);

/// Target of strings: their bytes, one after the other, and the end of each.
struct StringsOut {
  std::byte* bytes;
  std::int64_t* ends;
  std::int64_t size = 0;  ///< Bytes so far.

  void add(std::span<const std::byte> value, const StopCheck* check = nullptr);
};

/// Appends all strings.
void copy_strings(const Column& piece, StringsOut& out, const StopCheck* check = nullptr);

/// Writes every row as an array of `shape` (no size smaller than a row's), padded at the high side of each axis.
/// Returns the place of the next piece's rows.
std::byte* pad(const Column& piece, const Shape& shape, std::span<const std::byte> filler, std::byte* out,
               const StopCheck* check = nullptr);
/// The same for strings.
void pad_strings(const Column& piece, const Shape& shape, std::span<const std::byte> filler, StringsOut& out,
                 const StopCheck* check = nullptr);

}  // namespace forebay::columns
