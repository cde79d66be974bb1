// SPDX-License-Identifier: Apache-2.0
#include "columns/take/row_copy.h"

#include <array>
#include <cstring>

#include "columns/take/strided_rows.h"

namespace forebay::columns {

namespace {

void append_strings_of_row(const RowColumn& from, std::int64_t begin, std::int64_t end, Column& to) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t at = from.byte_splits[i];
    to.push_string({from.bytes + at, static_cast<std::size_t>(from.byte_splits[i + 1] - at)});
  }
}

/// Ends a row of shape `shape`, whose unknown sizes are `unknown`. The column may not know some of the others, either.
void end_row(const Shape& shape, const std::int64_t* unknown, Column& to) {
  std::array<std::int64_t, max_rank> sizes;
  std::size_t count = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t size = shape[axis] == unknown_dim ? *unknown++ : shape[axis];
    if (to.shape[axis] == unknown_dim) sizes[count++] = size;
  }
  to.end_row({sizes.data(), count});
}

/// Appends a row of `from` whose shape is known.
void append_known(const RowColumn& from, std::int64_t row, const Shape& shape, Column& to) {
  const std::int64_t count = shape.count();
  if (to.dtype == DType::string) {
    append_strings_of_row(from, row * count, (row + 1) * count, to);
  } else {
    const StridedRows rows{from, row + 1, to.dtype, shape};
    rows.copy(row, 1, to.values.extend(rows.row_bytes()));
  }
  if (to.fixed()) {
    ++to.rows;
    return;
  }
  end_row(shape, nullptr, to);
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
    if (from.swapped) swap_numbers(out, bytes, to.dtype);
  }
  end_row(shape, from.dims + row * static_cast<std::int64_t>(shape.unknown()), to);
}

void append_sizes(const RowColumn& from, std::int64_t row, Column& to) {
  end_row(to.shape, from.dims + row * static_cast<std::int64_t>(to.shape.unknown()), to);
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
