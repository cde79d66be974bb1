// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <forebay/column.h>

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

/// Copies rows of such an array into native, contiguous rows. A view: it owns nothing. Any number of threads may call.
class StridedRows {
 public:
  /// Fails when an item lies outside `memory`, or the sizes are too large.
  [[nodiscard]] static Result<StridedRows> make(const StridedArray& array);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }

  /// Writes rows `first` … `first + count - 1`; `out` has room for them. Fails when the array has not as many rows.
  [[nodiscard]] Result<void> gather_strided(std::int64_t first, std::int64_t count, std::byte* out,
                                            const StopCheck* check = nullptr) const;

 private:
  struct Axis {
    std::int64_t count;
    std::int64_t stride;
  };
  void copy_row(const std::byte* in, std::byte* out) const;

  const std::byte* first_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t row_stride_ = 0;
  std::size_t row_bytes_ = 0;
  std::size_t size_ = 1;  // of one item
  std::size_t half_ = 1;  // bytes whose order is swapped: of a complex number, those of one part
  bool swapped_ = false;
  std::size_t rank_ = 0;               // axes inside a row that do not continue each other
  std::array<Axis, max_rank> axes_{};  // innermost first
};

}  // namespace forebay::columns
