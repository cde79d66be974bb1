// SPDX-License-Identifier: Apache-2.0
#include "columns/take/strided_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "columns/gather.h"

namespace forebay::columns {

namespace {

Error bad_array(const std::string& message) { return {Code::data, Detail::invalid_argument, message}; }

/// The first and the last byte of all items, as offsets in the memory.
struct ByteBounds {
  std::int64_t low = 0;
  std::int64_t high = 0;  // one after the last
};

/// Fails when a sum overflows.
Result<ByteBounds> bounds_of(const StridedArray& array) {
  ByteBounds out{array.offset, 0};
  bool overflow = __builtin_add_overflow(array.offset, static_cast<std::int64_t>(size_of(array.dtype)), &out.high);
  for (std::size_t axis = 0; axis < array.sizes.size(); ++axis) {
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(array.sizes[axis] - 1, array.strides[axis], &reach);
    std::int64_t& moved = reach < 0 ? out.low : out.high;
    overflow |= __builtin_add_overflow(moved, reach, &moved);
  }
  if (overflow) return bad_array("the strides of the array lead too far");
  return out;
}

Result<void> check_array(const StridedArray& array) {
  if (array.dtype == DType::string) return bad_array("strings have no strides");
  if (array.sizes.empty() || array.sizes.size() != array.strides.size() || array.sizes.size() > max_rank)
    return bad_array(std::to_string(array.sizes.size()) + " sizes and " + std::to_string(array.strides.size()) +
                     " strides, expected as many of both, 1 to " + std::to_string(max_rank));
  auto bytes = static_cast<std::int64_t>(size_of(array.dtype));
  bool overflow = false;
  for (const std::int64_t size : array.sizes) {
    if (size < 0) return bad_array("an axis has " + std::to_string(size) + " items");
    overflow |= __builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes);
  }
  if (overflow) return bad_array("the array has too many items");
  if (std::find(array.sizes.begin(), array.sizes.end(), 0) != array.sizes.end()) return {};
  FOREBAY_TRY(const ByteBounds bounds, bounds_of(array));
  if (bounds.low < 0 || static_cast<std::uint64_t>(bounds.high) > array.memory.size())
    return bad_array("the items of the array lie in bytes " + std::to_string(bounds.low) + " … " +
                     std::to_string(bounds.high) + ", but the memory has " + std::to_string(array.memory.size()));
  return {};
}

/// Copies items of a known size; the compiler turns each copy into one or two moves.
template <std::size_t size>
void copy_items(const std::byte* in, std::int64_t stride, std::int64_t count, std::byte* out) {
  for (std::int64_t i = 0; i < count; ++i, in += stride, out += size) std::memcpy(out, in, size);
}

void copy_line(const std::byte* in, std::int64_t stride, std::int64_t count, std::size_t size, std::byte* out) {
  if (stride == static_cast<std::int64_t>(size)) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * size);
    return;
  }
  switch (size) {
    case 1:
      return copy_items<1>(in, stride, count, out);
    case 2:
      return copy_items<2>(in, stride, count, out);
    case 4:
      return copy_items<4>(in, stride, count, out);
    case 8:
      return copy_items<8>(in, stride, count, out);
    default:
      return copy_items<16>(in, stride, count, out);
  }
}

template <class Word, Word (*swap)(Word)>
void swap_words(std::byte* bytes, std::size_t size) {
  for (std::byte* const end = bytes + size; bytes < end; bytes += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes, sizeof(word));
    word = swap(word);
    std::memcpy(bytes, &word, sizeof(word));
  }
}

std::uint16_t swap_16(std::uint16_t word) { return __builtin_bswap16(word); }
std::uint32_t swap_32(std::uint32_t word) { return __builtin_bswap32(word); }
std::uint64_t swap_64(std::uint64_t word) { return __builtin_bswap64(word); }

}  // namespace

void swap_numbers(std::byte* numbers, std::size_t bytes, DType dtype) {
  const std::size_t number = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);  // a complex one is two numbers
  if (number == 2) return swap_words<std::uint16_t, swap_16>(numbers, bytes);
  if (number == 4) return swap_words<std::uint32_t, swap_32>(numbers, bytes);
  if (number == 8) return swap_words<std::uint64_t, swap_64>(numbers, bytes);
}

Result<StridedRows> StridedRows::make(const StridedArray& array) {
  FOREBAY_DO(check_array(array));
  StridedRows out{array.dtype, array.swapped};
  out.first_ = array.memory.data() + array.offset;
  out.rows_ = array.sizes[0];
  out.row_stride_ = array.strides[0];
  for (std::size_t axis = array.sizes.size(); axis-- > 1;) out.add_outer({array.sizes[axis], array.strides[axis]});
  out.end_axes();
  return out;
}

StridedRows::StridedRows(const RowColumn& from, std::int64_t rows, DType dtype, const Shape& shape)
    : StridedRows{dtype, from.swapped} {
  first_ = from.data;
  rows_ = rows;
  row_stride_ = from.row_stride;
  if (from.strides.empty()) {
    add_outer({shape.count(), static_cast<std::int64_t>(size_)});
  } else {
    for (std::size_t axis = shape.rank(); axis-- > 0;) add_outer({shape[axis], from.strides[axis]});
  }
  end_axes();
}

StridedRows::StridedRows(DType dtype, bool swapped)
    : row_bytes_{size_of(dtype)}, dtype_{dtype}, size_{size_of(dtype)}, swapped_{swapped && size_ > 1} {}

/// Adds the axis around those that were added.
void StridedRows::add_outer(Axis axis) {
  row_bytes_ *= static_cast<std::size_t>(axis.count);
  if (axis.count == 1) return;
  if (rank_ > 0 && axis.stride == axes_[rank_ - 1].count * axes_[rank_ - 1].stride) {
    axes_[rank_ - 1].count *= axis.count;
  } else {
    axes_[rank_++] = axis;
  }
}

void StridedRows::end_axes() {
  if (rank_ == 0) axes_[rank_++] = {1, static_cast<std::int64_t>(size_)};
  plain_ = !swapped_ && rank_ == 1 && axes_[0].stride == static_cast<std::int64_t>(size_);
}

void StridedRows::copy_row(const std::byte* in, std::byte* out) const {
  const Axis line = axes_[0];
  const std::size_t line_bytes = static_cast<std::size_t>(line.count) * size_;
  std::array<std::int64_t, max_rank> at{};
  for (std::byte* const end = out + row_bytes_; out < end; out += line_bytes) {
    copy_line(in, line.stride, line.count, size_, out);
    for (std::size_t axis = 1; axis < rank_; ++axis) {
      in += axes_[axis].stride;
      if (++at[axis] < axes_[axis].count) break;
      in -= axes_[axis].stride * axes_[axis].count;
      at[axis] = 0;
    }
  }
}

void StridedRows::copy_each(std::int64_t first, std::int64_t count, std::byte* out) const {
  if (row_bytes_ == 0) return;
  for (std::int64_t row = first; row < first + count; ++row, out += row_bytes_) {
    if (plain_) {
      std::memcpy(out, at(row), row_bytes_);
    } else {
      copy_row(at(row), out);
      if (swapped_) swap_numbers(out, row_bytes_, dtype_);
    }
  }
}

Result<void> StridedRows::gather_strided(std::int64_t first, std::int64_t count, std::byte* out,
                                         const StopCheck* check) const {
  if (first < 0 || count < 0 || first > rows_ || count > rows_ - first)
    return bad_array(std::to_string(count) + " rows from " + std::to_string(first) + " of an array that has " +
                     std::to_string(rows_));
  const std::int64_t at_once =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(StopCheck::interval / std::max<std::size_t>(row_bytes_, 1)));
  for (std::int64_t row = 0; row < count; row += at_once) {
    if (row > 0) StopCheck::look(check);
    copy(first + row, std::min(at_once, count - row), out + static_cast<std::size_t>(row) * row_bytes_);
  }
  return {};
}

}  // namespace forebay::columns
