// SPDX-License-Identifier: Apache-2.0
#include "tests/support/blocks.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/core.h>

#include "columns/cast.h"
#include "tests/support/base64.h"

namespace forebay::test {

namespace {

using Kind = Json::Kind;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument{message}; }

std::size_t depth_of(const Json& json) {
  std::size_t depth = 0;
  if (!json.is(Kind::array)) return 0;
  for (const Json& item : json.items()) depth = std::max(depth, depth_of(item));
  return depth + 1;
}

/// The sizes of a nested list of `rank` levels; a level below an empty one has size 0.
void measure(const Json& json, std::size_t axis, std::vector<std::int64_t>& sizes) {
  if (axis == sizes.size()) {
    if (json.is(Kind::array)) refuse("a row is nested deeper than another: " + json.text());
    return;
  }
  if (!json.is(Kind::array)) refuse("a row is nested less deep than another: " + json.text());
  const auto size = static_cast<std::int64_t>(json.items().size());
  if (sizes[axis] != unknown_dim && sizes[axis] != size) refuse("a row is not rectangular: " + json.text());
  sizes[axis] = size;
  for (const Json& item : json.items()) measure(item, axis + 1, sizes);
}

std::vector<std::int64_t> sizes_of(const Json& row, std::size_t rank) {
  std::vector<std::int64_t> sizes(rank, unknown_dim);
  measure(row, 0, sizes);
  for (std::int64_t& size : sizes) size = std::max<std::int64_t>(size, 0);
  return sizes;
}

void infer_dtype(const Json& json, std::optional<DType>& dtype) {
  if (json.is(Kind::array)) {
    for (const Json& item : json.items()) infer_dtype(item, dtype);
    return;
  }
  DType found = DType::float32;
  if (json.is(Kind::integer)) found = dtype == DType::float32 ? DType::float32 : DType::int64;
  if (json.is(Kind::number) && dtype == DType::int64) dtype = DType::float32;
  if (json.is(Kind::boolean)) found = DType::boolean;
  if (json.is(Kind::string)) found = DType::string;
  if (dtype && *dtype != found) refuse("a tensor mixes types: " + json.text());
  dtype = found;
}

Shape infer_shape(const std::vector<Json>& rows) {
  std::size_t rank = 0;
  for (const Json& row : rows) rank = std::max(rank, depth_of(row));
  std::vector<std::int64_t> dims;
  for (const Json& row : rows) {
    const std::vector<std::int64_t> sizes = sizes_of(row, rank);
    if (dims.empty()) dims = sizes;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (dims[axis] != sizes[axis]) dims[axis] = unknown_dim;
    }
  }
  return Shape{std::move(dims)};
}

template <class Number>
void put_number(Number value, DType from, Column& column, std::byte* to) {
  columns::cast(reinterpret_cast<const std::byte*>(&value), from, to, column.dtype, 1);
}

void put_elements(const Json& json, Column& column, std::byte*& to) {
  if (json.is(Kind::array)) {
    for (const Json& item : json.items()) put_elements(item, column, to);
    return;
  }
  if (column.dtype == DType::string) return column.push_string(bytes_of(example_bytes(json.string())));
  if (json.is(Kind::number)) {
    put_number(json.number(), DType::float64, column, to);
  } else {
    put_number(json.is(Kind::boolean) ? std::int64_t{json.boolean()} : json.integer(), DType::int64, column, to);
  }
  to += size_of(column.dtype);
}

Column column_from(const std::string& name, const std::vector<Json>& rows, const ColumnSpec& spec) {
  Column column{spec};
  std::byte* to = nullptr;
  if (column.fixed() && spec.dtype != DType::string) {
    column.set_rows(static_cast<std::int64_t>(rows.size()));
    to = column.values.data();
  }
  for (const Json& row : rows) {
    const std::vector<std::int64_t> sizes = sizes_of(row, spec.shape.rank());
    std::int64_t count = 1;
    std::vector<std::int64_t> unknown;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      count *= sizes[axis];
      if (spec.shape[axis] == unknown_dim)
        unknown.push_back(sizes[axis]);
      else if (spec.shape[axis] != sizes[axis])
        refuse(fmt::format("tensor '{}': {} is not of shape {}", name, row.text(), spec.shape.text()));
    }
    if (!column.fixed() && spec.dtype != DType::string)
      to = column.values.extend(static_cast<std::size_t>(count) * size_of(spec.dtype));
    put_elements(row, column, to);
    if (!column.fixed()) column.end_row(unknown);
  }
  column.rows = static_cast<std::int64_t>(rows.size());
  return column;
}

Column read_column(const std::string& name, const Json& json, Schema& schema) {
  const Json* const rows = json.is(Kind::object) ? json.find("rows") : &json;
  if (rows == nullptr || !rows->is(Kind::array)) refuse(fmt::format("tensor '{}': expected a list of rows", name));
  ColumnSpec spec{.name = name};
  std::optional<DType> dtype;
  infer_dtype(*rows, dtype);
  if (const Json* stated = json.find("dtype")) dtype = dtype_from(stated->string());
  spec.dtype = dtype.value_or(DType::float32);
  if (const Json* stated = json.find("shape")) {
    std::vector<std::int64_t> dims;
    for (const Json& dim : stated->items()) dims.push_back(dim.integer());
    spec.shape = Shape{std::move(dims)};
  } else {
    spec.shape = infer_shape(rows->items());
  }
  if (!spec.shape.known()) spec.delivery = Delivery::ragged;
  schema.put(spec);
  return column_from(name, rows->items(), spec);
}

Json element_to_json(const Column& column, std::int64_t element) {
  if (column.dtype == DType::string) {
    const auto bytes = column.string(element);
    return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  const std::byte* const at = column.values.data() + static_cast<std::size_t>(element) * size_of(column.dtype);
  std::int64_t integer = 0;
  if (!is_float(column.dtype)) {
    columns::cast(at, column.dtype, reinterpret_cast<std::byte*>(&integer), DType::int64, 1);
    return column.dtype == DType::boolean ? Json{integer != 0} : Json{integer};
  }
  double number = 0;
  columns::cast(at, column.dtype, reinterpret_cast<std::byte*>(&number), DType::float64, 1);
  if (!std::isfinite(number)) return fmt::format("{}", number);
  return column.dtype == DType::float64 ? number : std::stod(fmt::format("{}", static_cast<float>(number)));
}

Json nested(const Column& column, std::span<const std::int64_t> sizes, std::int64_t& element) {
  if (sizes.empty()) return element_to_json(column, element++);
  std::vector<Json> items;
  for (std::int64_t i = 0; i < sizes.front(); ++i) items.push_back(nested(column, sizes.subspan(1), element));
  return Json::array(std::move(items));
}

}  // namespace

ColumnBlock block_from_json(const Json& tensors, Schema& schema) {
  if (!tensors.is(Kind::object)) refuse("expected an object of tensors");
  ColumnBlock block;
  for (const auto& [name, json] : tensors.members()) {
    Column column = read_column(name, json, schema);
    if (!block.columns.empty() && column.rows != block.rows)
      refuse(fmt::format("tensor '{}' has {} rows, not {}", name, column.rows, block.rows));
    block.rows = column.rows;
    block.columns.push_back(std::move(column));
  }
  return block;
}

Json block_to_json(const ColumnBlock& block, const Schema& schema) {
  Json out = Json::object();
  for (const ColumnId id : schema.visible()) {
    const Column& column = block[id];
    std::vector<Json> rows;
    std::int64_t element = 0;
    for (std::int64_t row = 0; row < column.rows; ++row)
      rows.push_back(nested(column, column.row_shape(row).dims(), element));
    out.set(schema[id].name, Json::array(std::move(rows)));
  }
  return out;
}

void add_columns(ColumnBlock& block, const Schema& schema) {
  for (std::size_t id = block.columns.size(); id < schema.size(); ++id) {
    Column column{schema[static_cast<ColumnId>(id)]};
    if (column.fixed() && column.dtype != DType::string) {
      column.set_rows(block.rows);
      if (column.values.size() != 0) std::memset(column.values.data(), 0xCD, column.values.size());
    }
    block.columns.push_back(std::move(column));
  }
}

Result<Json> run_step(const StepType& type, std::string_view options, std::string_view in) {
  FOREBAY_TRY(const Json parsed, parse_json(options));
  FOREBAY_TRY(const Json tensors, parse_json(in));
  Schema schema;
  ColumnBlock block = block_from_json(tensors, schema);
  FOREBAY_TRY(const Bound<Step> bound, type.bind(parsed, schema));
  add_columns(block, bound.out);
  const auto memory = bound.op->memory();
  FOREBAY_DO(bound.op->apply(block, {}, memory.get()));
  return block_to_json(block, bound.out);
}

}  // namespace forebay::test
