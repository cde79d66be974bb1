// SPDX-License-Identifier: Apache-2.0
#include "cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include <fmt/core.h>
#include <forebay/convert.h>

namespace forebay::cli {

namespace {

Json float_json(double value, DType dtype) {
  if (!std::isfinite(value)) return Json{std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"};
  if (dtype == DType::float64) return Json{value};
  const std::string digits = fmt::format("{}", static_cast<float>(value));  // 0.1, not 0.10000000149011612
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return Json{value};
}

/// Row splits are int32 or int64; the document decides.
std::int64_t split(const Tensor& splits, std::int64_t at) {
  const auto index = static_cast<std::size_t>(at);
  return splits.dtype == DType::int32 ? splits.as<std::int32_t>()[index] : splits.as<std::int64_t>()[index];
}

class RowPrinter {
 public:
  RowPrinter(const Tensor& values, std::int64_t most) : values_{values}, left_{most} {}

  /// Elements from `first` on, nested by `dims`.
  Json nested(std::span<const std::int64_t> dims, std::int64_t first) {
    if (dims.empty()) return --left_, element_json(values_, first);
    std::int64_t size = 1;
    for (const std::int64_t dim : dims.subspan(1)) size *= dim;
    std::vector<Json> items;
    for (std::int64_t i = 0; i < dims[0] && more(items); ++i)
      items.push_back(nested(dims.subspan(1), first + i * size));
    return Json::array(std::move(items));
  }

  /// Row `row` of the split axes from `splits` on.
  Json ragged(std::span<const Tensor> splits, std::int64_t row) {
    const std::span<const std::int64_t> inner = std::span{values_.shape.dims()}.subspan(1);
    if (splits.empty()) {
      std::int64_t size = 1;
      for (const std::int64_t dim : inner) size *= dim;
      return nested(inner, row * size);
    }
    // Splits that were not validated may name rows that do not exist.
    const std::int64_t there = splits.size() > 1 ? splits[1].count() - 1 : values_.shape[0];
    std::vector<Json> items;
    const std::int64_t end = std::min(split(splits[0], row + 1), there);
    for (std::int64_t i = std::max<std::int64_t>(split(splits[0], row), 0); i < end && more(items); ++i) {
      items.push_back(ragged(splits.subspan(1), i));
    }
    return Json::array(std::move(items));
  }

 private:
  bool more(std::vector<Json>& items) {
    if (left_ > 0) return true;
    if (items.empty() || !(items.back() == Json{"…"})) items.emplace_back("…");
    return false;
  }

  const Tensor& values_;
  std::int64_t left_;
};

Json sparse_row(const Value& value, std::int64_t row, std::int64_t most) {
  const std::int64_t rank = value.indices.shape[1];
  const std::span<std::int64_t> indices = value.indices.as<std::int64_t>();
  std::vector<Json> places, elements;
  for (std::int64_t i = 0; i < value.values.count() && most > 0; ++i) {
    const auto entry = indices.subspan(static_cast<std::size_t>(i * rank), static_cast<std::size_t>(rank));
    if (entry[0] != row) continue;
    places.push_back(Json::array({entry.begin() + 1, entry.end()}));
    elements.push_back(element_json(value.values, i));
    --most;
  }
  Json out = Json::object();
  out.set("indices", Json::array(std::move(places)));
  out.set("values", Json::array(std::move(elements)));
  return out;
}

}  // namespace

Json element_json(const Tensor& tensor, std::int64_t element) {
  if (tensor.dtype == DType::string) return Json{std::string{tensor.string(element)}};
  if (is_complex(tensor.dtype)) {  // [real, imaginary]
    const Tensor parts = parts_of(tensor);
    return Json::array({element_json(parts, 2 * element), element_json(parts, 2 * element + 1)});
  }
  if (is_float(tensor.dtype) || tensor.dtype == DType::uint64) {
    double number = 0;
    convert(tensor, element, {&number, 1});
    if (is_float(tensor.dtype)) return float_json(number, tensor.dtype);
    if (number >= 9.2e18) return Json{number};
  }
  std::int64_t integer = 0;
  convert(tensor, element, {&integer, 1});
  return tensor.dtype == DType::boolean ? Json{integer != 0} : Json{integer};
}

Tensor parts_of(const Tensor& complex) {
  return {.dtype = complex.dtype == DType::complex64 ? DType::float32 : DType::float64,
          .shape = Shape{2 * complex.count()},
          .data = complex.data,
          .byte_splits = nullptr,
          .bytes = nullptr,
          .owner = complex.owner};
}

Json row_json(const Value& value, std::int64_t row, std::int64_t most) {
  if (value.kind == Value::Kind::sparse) return sparse_row(value, row, most);
  RowPrinter printer{value.values, most};
  if (value.kind == Value::Kind::ragged) return printer.ragged(value.row_splits, row);
  return printer.ragged({}, row);
}

std::string type_text(const Value& value) {
  const std::string dtype{to_string(value.values.dtype)};
  if (value.kind == Value::Kind::sparse) return dtype + " sparse";
  if (value.kind == Value::Kind::ragged) return dtype + " ragged";
  const std::vector<std::int64_t>& dims = value.values.shape.dims();
  return dims.size() < 2 ? dtype : dtype + Shape{{dims.begin() + 1, dims.end()}}.text();
}

}  // namespace forebay::cli
