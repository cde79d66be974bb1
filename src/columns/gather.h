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

/// Copies bytes; asks `check` now and then when they are many.
void copy_bytes(std::span<const std::byte> in, std::byte* out, const StopCheck* check = nullptr);

/// The sizes of all rows, [rows, unknown dims], to `out`; returns where the next piece's go.
std::int64_t* copy_sizes(const Column& piece, std::int64_t* out);

/// All elements, to `out`; returns where the next piece's go.
std::byte* copy_values(const Column& piece, std::byte* out, const StopCheck* check = nullptr);

/// Where strings go, one behind the other: their bytes, and where each of them ends.
struct StringsOut {
  std::byte* bytes;
  std::int64_t* ends;
  std::int64_t size = 0;  ///< Bytes so far.

  void add(std::span<const std::byte> value, const StopCheck* check = nullptr);
};

/// All strings.
void copy_strings(const Column& piece, StringsOut& out, const StopCheck* check = nullptr);

/// Writes every row as an array of `shape` (no size smaller than a row's), filled up at the high side of each axis;
/// returns where the next piece's rows go.
std::byte* pad(const Column& piece, const Shape& shape, std::span<const std::byte> filler, std::byte* out,
               const StopCheck* check = nullptr);
/// The same for strings.
void pad_strings(const Column& piece, const Shape& shape, std::span<const std::byte> filler, StringsOut& out,
                 const StopCheck* check = nullptr);

}  // namespace forebay::columns
