// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/row_gather.h"

#include <algorithm>
#include <cstring>

namespace forebay::engine {

namespace {

constexpr std::size_t rows_ahead = 16;  // rows

/// The rows of a ticket: handles and the block of each.
struct TicketRows {
  std::span<const Handle> handles;
  std::span<const RowBlock* const> blocks;

  [[nodiscard]] std::size_t size() const { return handles.size(); }
  [[nodiscard]] const RowColumn& column(std::size_t row, std::size_t number) const {
    return blocks[row]->columns[number];
  }
  /// How many rows from `row` on are neighbours in one block.
  [[nodiscard]] std::size_t neighbours(std::size_t row) const {
    std::size_t end = row + 1;
    while (end < size() && blocks[end] == blocks[row] &&
           handles[end].ordinal == handles[row].ordinal + static_cast<std::uint32_t>(end - row))
      ++end;
    return end - row;
  }
};

/// Walks the elements of one row whose axes have strides of their own.
class StridedRow {
 public:
  StridedRow(const RowColumn& column, const Shape& shape, std::size_t size)
      : column_{column}, shape_{shape}, size_{size}, at_(shape.rank()) {}

  void copy(const std::byte* in, std::byte* out) {
    const std::int64_t count = shape_.count();
    std::ranges::fill(at_, 0);
    for (std::int64_t i = 0; i < count; ++i, out += size_) {
      std::memcpy(out, in, size_);
      for (std::size_t axis = at_.size(); axis-- > 0;) {
        in += column_.strides[axis];
        if (++at_[axis] < shape_[axis]) break;
        in -= column_.strides[axis] * shape_[axis];
        at_[axis] = 0;
      }
    }
  }

 private:
  const RowColumn& column_;
  const Shape& shape_;
  const std::size_t size_;
  std::vector<std::int64_t> at_;
};

void swap_bytes(std::byte* data, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i, data += size) std::reverse(data, data + size);
}

/// Numbers of complex types are two numbers.
std::size_t number_bytes(DType dtype) { return is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype); }

void gather_fixed(const TicketRows& rows, std::size_t number, const Column& to, std::byte* out,
                  const StopCheck& check) {
  const std::size_t bytes = to.row_bytes();
  std::size_t since_look = 0;
  for (std::size_t row = 0; row < rows.size();) {
    const RowColumn& column = rows.column(row, number);
    const std::byte* const in = column.data + std::int64_t{rows.handles[row].ordinal} * column.row_stride;
    const bool plain = column.strides.empty();
    const std::size_t count = plain && column.row_stride == static_cast<std::int64_t>(bytes) ? rows.neighbours(row) : 1;
    if (row + rows_ahead < rows.size()) {
      const RowColumn& later = rows.column(row + rows_ahead, number);
      __builtin_prefetch(later.data + std::int64_t{rows.handles[row + rows_ahead].ordinal} * later.row_stride);
    }
    if (plain) {
      std::memcpy(out, in, count * bytes);
    } else {
      StridedRow{column, to.shape, size_of(to.dtype)}.copy(in, out);
    }
    if (column.swapped) swap_bytes(out, count * bytes / number_bytes(to.dtype), number_bytes(to.dtype));
    out += count * bytes;
    row += count;
    since_look += count * bytes;
    if (since_look < StopCheck::interval) continue;
    check.look();
    since_look = 0;
  }
}

/// The elements of a row whose column counts them.
struct Elements {
  std::int64_t begin, count;
};

Elements elements_of(const RowColumn& column, const Shape& shape, std::int64_t row) {
  if (column.row_splits == nullptr) return {row * shape.count(), shape.count()};
  return {column.row_splits[row], column.row_splits[row + 1] - column.row_splits[row]};
}

void append_elements(const RowColumn& column, const Elements& elements, Column& to) {
  if (to.dtype == DType::string) {
    for (std::int64_t i = elements.begin; i < elements.begin + elements.count; ++i) {
      const std::int64_t begin = column.byte_splits[i];
      to.push_string({column.bytes + begin, static_cast<std::size_t>(column.byte_splits[i + 1] - begin)});
    }
    return;
  }
  const std::size_t size = size_of(to.dtype);
  const std::size_t bytes = static_cast<std::size_t>(elements.count) * size;
  std::byte* const out = to.values.extend(bytes);
  if (bytes > 0) std::memcpy(out, column.data + static_cast<std::size_t>(elements.begin) * size, bytes);
  if (column.swapped) swap_bytes(out, bytes / number_bytes(to.dtype), number_bytes(to.dtype));
}

void gather_variable(const TicketRows& rows, std::size_t number, Column& to, const StopCheck& check) {
  const std::size_t unknown = to.shape.unknown();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row % 1024 == 0) check.look();
    const RowColumn& column = rows.column(row, number);
    const std::int64_t ordinal = rows.handles[row].ordinal;
    append_elements(column, elements_of(column, to.shape, ordinal), to);
    if (unknown > 0) {
      to.end_row({column.dims + ordinal * static_cast<std::int64_t>(unknown), unknown});
    } else {
      ++to.rows;
    }
  }
}

}  // namespace

RowGather::RowGather(const Program& program) : columns_{program.decoded} {}

void RowGather::run(const BatchLayout& layout, std::int64_t first, std::int64_t rows, ColumnBlock& block,
                    const StopCheck& check) const {
  const auto from = static_cast<std::size_t>(first);
  const auto count = static_cast<std::size_t>(rows);
  const TicketRows all{std::span{layout.handles}.subspan(from, count),
                       std::span{layout.row_blocks}.subspan(from, count)};
  for (const ColumnId id : columns_) {
    Column& to = block[id];
    if (to.fixed() && to.dtype != DType::string) {
      gather_fixed(all, static_cast<std::size_t>(id), to, to.values.data(), check);
    } else {
      gather_variable(all, static_cast<std::size_t>(id), to, check);
    }
  }
}

}  // namespace forebay::engine
