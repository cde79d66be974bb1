// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <forebay/forebay.h>
#include <forebay/json.h>

#include "tests/support/base64.h"

/// Converts tensors to JSON, row first, and JSON to records. Worked examples use this form.
namespace forebay::testing {

[[nodiscard]] inline Json element_of(const Tensor& tensor, std::int64_t at) {
  const auto as = [&]<class T>(T) { return reinterpret_cast<const T*>(tensor.data)[at]; };
  switch (tensor.dtype) {
    case DType::boolean:
      return Json{as(bool{})};
    case DType::int8:
      return Json{std::int64_t{as(std::int8_t{})}};
    case DType::int16:
      return Json{std::int64_t{as(std::int16_t{})}};
    case DType::int32:
      return Json{std::int64_t{as(std::int32_t{})}};
    case DType::int64:
      return Json{as(std::int64_t{})};
    case DType::uint8:
      return Json{std::int64_t{as(std::uint8_t{})}};
    case DType::uint16:
      return Json{std::int64_t{as(std::uint16_t{})}};
    case DType::uint32:
      return Json{std::int64_t{as(std::uint32_t{})}};
    case DType::uint64:
      return Json{static_cast<std::int64_t>(as(std::uint64_t{}))};
    case DType::float32:
      return Json{static_cast<double>(as(float{}))};
    case DType::float64:
      return Json{as(double{})};
    case DType::string:
      return Json{std::string{tensor.string(at)}};
    default:
      return Json{};  // float16 and bfloat16 appear in no example
  }
}

[[nodiscard]] inline Json nested(const Tensor& tensor, std::size_t axis, std::int64_t& at) {
  if (axis == tensor.shape.rank()) return element_of(tensor, at++);
  std::vector<Json> items;
  for (std::int64_t i = 0; i < tensor.shape[axis]; ++i) items.push_back(nested(tensor, axis + 1, at));
  return Json::array(std::move(items));
}

[[nodiscard]] inline Json to_json(const Tensor& tensor) {
  std::int64_t at = 0;
  return nested(tensor, 0, at);
}

[[nodiscard]] inline Json ragged_to_json(const Value& value) {
  std::vector<Json> rows = to_json(value.values).items();
  for (std::size_t level = value.row_splits.size(); level > 0; --level) {
    const Json splits = to_json(value.row_splits[level - 1]);
    std::vector<Json> outer;
    for (std::size_t i = 0; i + 1 < splits.items().size(); ++i) {
      const auto begin = rows.begin() + splits.items()[i].integer();
      outer.push_back(Json::array({begin, rows.begin() + splits.items()[i + 1].integer()}));
    }
    rows = std::move(outer);
  }
  return Json::array(std::move(rows));
}

[[nodiscard]] inline Json to_json(const Value& value) {
  if (value.kind == Value::Kind::dense) return to_json(value.values);
  if (value.kind == Value::Kind::ragged) return ragged_to_json(value);
  std::vector<Json> shape;
  for (const std::int64_t dim : value.dense_shape.dims()) shape.emplace_back(dim);
  return Json::object({{"indices", to_json(value.indices)},
                       {"values", to_json(value.values)},
                       {"dense_shape", Json::array(std::move(shape))}});
}

inline void flatten(const Json& json, std::vector<Json>& out) {
  if (!json.is(Json::Kind::array)) return out.push_back(json);
  for (const Json& item : json.items()) flatten(item, out);
}

/// Makes a feature: integers become an int64 list, numbers with a decimal point a float list, texts a bytes list.
[[nodiscard]] inline FeatureValue feature_of(const Json& json) {
  std::vector<Json> elements;
  flatten(json, elements);
  const auto any = [&](Json::Kind kind) {
    for (const Json& element : elements) {
      if (element.is(kind)) return true;
    }
    return false;
  };
  if (any(Json::Kind::string)) {
    std::vector<std::string> out;
    for (const Json& element : elements) out.push_back(test::example_bytes(element.string()));
    return out;
  }
  if (any(Json::Kind::number)) {
    std::vector<float> out;
    for (const Json& element : elements) out.push_back(static_cast<float>(element.number()));
    return out;
  }
  std::vector<std::int64_t> out;
  for (const Json& element : elements) out.push_back(element.integer());
  return out;
}

[[nodiscard]] inline ExampleMap features_of(const Json& object) {
  ExampleMap out;
  for (const auto& [name, value] : object.members()) out[name] = feature_of(value);
  return out;
}

/// Encodes a length-delimited protobuf field; the lengths in tests are below 128 bytes.
[[nodiscard]] inline std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

/// Encodes {"context": {name: values}, "lists": {name: [values of each step]}} as a tf.train.SequenceExample. An
/// encoded Example is field 1, and so is the context. In an entry of the lists, the Feature follows a one-letter key.
[[nodiscard]] inline std::string sequence_example_of(const Json& message) {
  std::string out;
  if (const Json* context = message.find("context")) out += encode_example(features_of(*context));
  std::string lists;
  if (const Json* members = message.find("lists")) {
    for (const auto& [name, steps] : members->members()) {
      std::string list;
      for (const Json& step : steps.items()) {
        constexpr std::size_t before_feature = 2 + 2 + 3 + 2;
        list += field(1, encode_example({{"k", feature_of(step)}}).substr(before_feature));
      }
      lists += field(1, field(1, name) + field(2, list));
    }
  }
  return out + field(2, lists);
}

[[nodiscard]] inline std::vector<std::int64_t> dims_of(const Json& json) {
  std::vector<std::int64_t> dims;
  for (const Json* at = &json; at->is(Json::Kind::array); at = at->items().data()) {
    dims.push_back(static_cast<std::int64_t>(at->items().size()));
    if (at->items().empty()) break;
  }
  return dims;
}

}  // namespace forebay::testing
