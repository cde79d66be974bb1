// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <forebay/column.h>
#include <forebay/rows.h>

#include "columns/strided.h"

namespace forebay::columns {

/// An array of the program: any strides (negative and zero too), alignment and byte order, as numpy has them.
struct StridedArray {
  DType dtype = DType::float32;           ///< No strings.
  std::span<const std::int64_t> sizes;    ///< The first axis is the rows.
  std::span<const std::int64_t> strides;  ///< Bytes from one item of an axis to the next.
  std::span<const std::byte> memory;      ///< All bytes that may be read.
  std::int64_t offset = 0;                ///< Of item [0, 0, …] in `memory`.
  bool swapped = false;                   ///< The bytes of each number are in the other order.
};

/// Copies rows of such an array, or of a column of a row block, into native, contiguous rows. A view: it owns nothing.
/// Any number of threads may call.
class StridedRows {
 public:
  /// Fails when an item lies outside `memory`, or the sizes are too large.
  [[nodiscard]] static Result<StridedRows> make(const StridedArray& array);
  /// Numbers of the known shape `shape`. Checks nothing: a row block says how many rows it has.
  StridedRows(const RowColumn& from, std::int64_t rows, DType dtype, const Shape& shape);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }
  /// Where a row begins.
  [[nodiscard]] const std::byte* at(std::int64_t row) const { return first_ + row * row_stride_; }

  /// Writes rows `first` … `first + count - 1`, which the array must have; `out` has room for them.
  void copy(std::int64_t first, std::int64_t count, std::byte* out) const {
    const bool contiguous = count == 1 || row_stride_ == static_cast<std::int64_t>(row_bytes_);
    if (!plain_ || !contiguous) return copy_each(first, count, out);
    const std::size_t bytes = static_cast<std::size_t>(count) * row_bytes_;
    if (bytes > 0) std::memcpy(out, at(first), bytes);
  }
  /// The same. Fails when the array has not as many rows. Polls `check` during long copies.
  [[nodiscard]] Result<void> gather_strided(std::int64_t first, std::int64_t count, std::byte* out,
                                            const StopCheck* check = nullptr) const;

 private:
  struct Axis {
    std::int64_t count;
    std::int64_t stride;
  };
  StridedRows(DType dtype, bool swapped);
  void add_outer(Axis axis);
  void end_axes();
  void copy_each(std::int64_t first, std::int64_t count, std::byte* out) const;
  void copy_row(const std::byte* in, std::byte* out) const;

  const std::byte* first_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t row_stride_ = 0;
  std::size_t row_bytes_ = 0;
  DType dtype_ = DType::float32;
  std::size_t size_ = 1;  // of one item
  bool swapped_ = false;
  bool plain_ = true;                // the items of a row follow each other, in this machine's byte order
  std::size_t rank_ = 0;             // axes inside a row that do not continue each other
  std::array<Axis, max_rank> axes_;  // innermost first
};

/// Reverses the bytes of each number.
void swap_numbers(std::byte* numbers, std::size_t bytes, DType dtype);

}  // namespace forebay::columns
