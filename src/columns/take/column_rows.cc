// SPDX-License-Identifier: Apache-2.0
#include "columns/take/column_rows.h"

#include <cstring>
#include <utility>
#include <vector>

namespace forebay::columns {

namespace {

constexpr std::size_t split_bytes = sizeof(std::int64_t);

void append_bytes(const std::byte* from, std::size_t size, Storage& to) {
  if (size > 0) std::memcpy(to.extend(size), from, size);
}

/// Appends the ends of the items from `splits[0]` on, counted from the last end in `to`.
void append_ends(const std::int64_t* splits, std::int64_t count, Storage& to) {
  const std::int64_t shift = to.span<std::int64_t>().back() - splits[0];
  auto* const out = reinterpret_cast<std::int64_t*>(to.extend(static_cast<std::size_t>(count) * split_bytes));
  for (std::int64_t i = 0; i < count; ++i) out[i] = splits[i + 1] + shift;
}

std::int64_t first_element(const Column& column, std::int64_t row) {
  return column.fixed() ? row * column.shape.count() : column.row_splits.as<std::int64_t>()[row];
}

}  // namespace

Column empty_like(const Column& column) {
  Column out;
  out.dtype = column.dtype;
  out.shape = column.shape;
  for (const Column& part : column.parts) out.parts.push_back(empty_like(part));
  out.ask(column.values.check());
  out.clear();
  return out;
}

void truncate(Column& column, std::int64_t rows) {
  const auto kept = static_cast<std::size_t>(rows);
  const std::int64_t elements = first_element(column, rows);
  if (!column.fixed()) {
    column.row_splits.resize((kept + 1) * split_bytes);
    column.dims.resize(kept * column.shape.unknown() * split_bytes);
  }
  if (column.dtype == DType::string) {
    column.byte_splits.resize((static_cast<std::size_t>(elements) + 1) * split_bytes);
    column.bytes.resize(static_cast<std::size_t>(column.byte_splits.as<std::int64_t>()[elements]));
  } else {
    column.values.resize(static_cast<std::size_t>(elements) * size_of(column.dtype));
  }
  column.rows = rows;
  for (Column& part : column.parts) truncate(part, rows);
}

void append_blank(Column& column, std::int64_t count, std::span<const std::int64_t> unknown_sizes) {
  std::int64_t elements = count * column.shape.count();
  for (const std::int64_t size : unknown_sizes) elements *= size;
  if (column.dtype == DType::string) {
    for (std::int64_t i = 0; i < elements; ++i) column.push_string({});
  } else if (const std::size_t size = static_cast<std::size_t>(elements) * size_of(column.dtype); size > 0) {
    std::memset(column.values.extend(size), 0, size);
  }
  if (column.fixed()) column.rows += count;
  for (std::int64_t i = 0; i < count && !column.fixed(); ++i) column.end_row(unknown_sizes);
  for (Column& part : column.parts) append_blank(part, count);
}

void append_blank(Column& column, std::int64_t count) {
  append_blank(column, count, std::vector<std::int64_t>(column.shape.unknown()));
}

void append_rows(const Column& from, std::int64_t first, std::int64_t end, Column& to) {
  const std::int64_t begin = first_element(from, first);
  const std::int64_t stop = first_element(from, end);
  if (from.dtype == DType::string) {
    const std::int64_t* const splits = from.byte_splits.as<std::int64_t>();
    append_bytes(from.bytes.data() + splits[begin], static_cast<std::size_t>(splits[stop] - splits[begin]), to.bytes);
    append_ends(splits + begin, stop - begin, to.byte_splits);
  } else {
    const std::size_t size = size_of(from.dtype);
    append_bytes(from.values.data() + static_cast<std::size_t>(begin) * size,
                 static_cast<std::size_t>(stop - begin) * size, to.values);
  }
  if (!from.fixed()) {
    append_ends(from.row_splits.as<std::int64_t>() + first, end - first, to.row_splits);
    const std::size_t width = from.shape.unknown() * split_bytes;
    append_bytes(from.dims.data() + static_cast<std::size_t>(first) * width,
                 static_cast<std::size_t>(end - first) * width, to.dims);
  }
  to.rows += end - first;
  for (std::size_t i = 0; i < from.parts.size(); ++i) append_rows(from.parts[i], first, end, to.parts[i]);
}

void remove_rows(Column& column, std::span<const std::int64_t> rows) {
  Column kept = empty_like(column);
  std::int64_t next = 0;
  for (const std::int64_t row : rows) {
    append_rows(column, next, row, kept);
    next = row + 1;
  }
  append_rows(column, next, column.rows, kept);
  column = std::move(kept);
}

void view_rows(Column& column, std::int64_t first, std::int64_t count, Column& view) {
  const std::int64_t begin = first_element(column, first);
  const std::int64_t elements = first_element(column, first + count) - begin;
  view.rows = count;
  if (column.dtype == DType::string) {
    const std::size_t splits = static_cast<std::size_t>(elements + 1) * split_bytes;
    view.byte_splits.bind(column.byte_splits.data() + static_cast<std::size_t>(begin) * split_bytes, splits);
    view.byte_splits.resize(splits);
    view.bytes.bind(column.bytes.data(), column.bytes.size());
    view.bytes.resize(column.bytes.size());
  } else {
    const std::size_t size = static_cast<std::size_t>(elements) * size_of(column.dtype);
    view.values.bind(column.values.data() + static_cast<std::size_t>(begin) * size_of(column.dtype), size);
    view.values.resize(size);
  }
  if (column.fixed()) return;
  view.row_splits.clear();
  view.row_splits.push<std::int64_t>(0);
  append_ends(column.row_splits.as<std::int64_t>() + first, count, view.row_splits);
  const std::size_t width = column.shape.unknown() * split_bytes;
  view.dims.bind(column.dims.data() + static_cast<std::size_t>(first) * width, static_cast<std::size_t>(count) * width);
  view.dims.resize(static_cast<std::size_t>(count) * width);
}

}  // namespace forebay::columns
