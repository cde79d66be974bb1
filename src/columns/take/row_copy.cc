// SPDX-License-Identifier: Apache-2.0
#include "columns/take/row_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "columns/strided.h"

namespace forebay::columns {

namespace {

/// Copies the elements of one row whose axes have strides of their own.
void copy_with_strides(const std::byte* in, const RowColumn& from, const Shape& shape, std::size_t size,
                       std::byte* out) {
  std::array<std::int64_t, max_rank> at{};
  const std::int64_t count = shape.count();
  for (std::int64_t i = 0; i < count; ++i, out += size) {
    std::memcpy(out, in, size);
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      in += from.strides[axis];
      if (++at[axis] < shape[axis]) break;
      in -= from.strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

void swap_bytes(std::byte* data, std::size_t bytes, DType dtype) {
  const std::size_t size = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);  // a complex number is two numbers
  for (std::byte* const end = data + bytes; data < end; data += size) std::reverse(data, data + size);
}

}  // namespace

void copy_fixed(const RowColumn& from, std::int64_t row, std::size_t count, DType dtype, const Shape& shape,
                std::byte* out) {
  const std::byte* const in = from.data + row * from.row_stride;
  const std::size_t bytes = count * static_cast<std::size_t>(shape.count()) * size_of(dtype);
  if (bytes == 0) return;
  if (from.strides.empty()) {
    std::memcpy(out, in, bytes);
  } else {
    copy_with_strides(in, from, shape, size_of(dtype), out);
  }
  if (from.swapped) swap_bytes(out, bytes, dtype);
}

namespace {

void append_strings_of_row(const RowColumn& from, std::int64_t begin, std::int64_t end, Column& to) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t at = from.byte_splits[i];
    to.push_string({from.bytes + at, static_cast<std::size_t>(from.byte_splits[i + 1] - at)});
  }
}

/// Appends a row of `from` whose shape is known.
void append_known(const RowColumn& from, std::int64_t row, const Shape& shape, Column& to) {
  const std::int64_t count = shape.count();
  if (to.dtype == DType::string) {
    append_strings_of_row(from, row * count, (row + 1) * count, to);
  } else {
    copy_fixed(from, row, 1, to.dtype, shape, to.values.extend(static_cast<std::size_t>(count) * size_of(to.dtype)));
  }
  if (to.fixed()) {
    ++to.rows;
    return;
  }
  std::array<std::int64_t, max_rank> sizes{};
  std::size_t unknown = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (to.shape[axis] == unknown_dim) sizes[unknown++] = shape[axis];
  }
  to.end_row({sizes.data(), unknown});
}

}  // namespace

void append_row(const RowColumn& from, std::int64_t row, const Shape& shape, Column& to) {
  if (shape.known()) return append_known(from, row, shape, to);
  const std::int64_t begin = from.row_splits[row];
  const std::int64_t end = from.row_splits[row + 1];
  if (to.dtype == DType::string) {
    append_strings_of_row(from, begin, end, to);
  } else if (end > begin) {
    const std::size_t size = size_of(to.dtype);
    const std::size_t bytes = static_cast<std::size_t>(end - begin) * size;
    std::byte* const out = to.values.extend(bytes);
    std::memcpy(out, from.data + static_cast<std::size_t>(begin) * size, bytes);
    if (from.swapped) swap_bytes(out, bytes, to.dtype);
  }
  const std::size_t unknown = shape.unknown();
  to.end_row({from.dims + row * static_cast<std::int64_t>(unknown), unknown});
}

std::int64_t bytes_of(const Schema& schema, const RowBlock& block) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    const ColumnSpec& spec = schema[static_cast<ColumnId>(i)];
    const RowColumn& column = block.columns[i];
    const std::int64_t elements =
        column.row_splits != nullptr ? column.row_splits[block.rows] : block.rows * spec.shape.count();
    bytes += spec.dtype == DType::string ? column.byte_splits[elements] - column.byte_splits[0]
                                         : elements * static_cast<std::int64_t>(size_of(spec.dtype));
  }
  return bytes;
}

RowColumn view_of(const Column& column) {
  return {.data = column.values.data(),
          .row_stride = column.fixed() ? static_cast<std::int64_t>(column.row_bytes()) : 0,
          .row_splits = column.fixed() ? nullptr : column.row_splits.as<std::int64_t>(),
          .dims = column.fixed() ? nullptr : column.dims.as<std::int64_t>(),
          .byte_splits = column.dtype == DType::string ? column.byte_splits.as<std::int64_t>() : nullptr,
          .bytes = column.bytes.data()};
}

}  // namespace forebay::columns
