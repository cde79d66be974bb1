// SPDX-License-Identifier: Apache-2.0
#include <forebay/json_codec.h>

#include <cmath>

#include <fmt/core.h>
#include <forebay/describe.h>

namespace forebay {

namespace {

Json typed(const char* type) {
  Json out = Json::object();
  out.set("type", type);
  return out;
}

}  // namespace

std::optional<std::int64_t> read_integer(const Json& json, std::vector<Error>& faults) {
  constexpr double tolerance = 1e-6;
  constexpr double limit = 9223372036854775808.0;  // 2^63, the first value that does not fit
  if (json.is(Json::Kind::integer)) return json.integer();
  if (!json.is(Json::Kind::number)) return fault_type(json, "an integer", faults), std::nullopt;
  const double value = json.number();
  const double whole = std::round(value);
  if (!(std::abs(value - whole) < tolerance)) {
    fault_type(json, fmt::format("an integer ({} is not one)", value), faults);
    return std::nullopt;
  }
  if (whole < -limit || whole >= limit) {
    fault_value(
        json,
        fmt::format("must be an integer of 64 bits, from -9223372036854775808 to 9223372036854775807, found {}", value),
        faults);
    return std::nullopt;
  }
  return static_cast<std::int64_t>(whole);
}

Json choice_schema(std::span<const std::string_view> names) {
  std::vector<Json> items;
  for (const std::string_view name : names) items.emplace_back(std::string{name});
  Json out = typed("string");
  out.set("enum", Json::array(std::move(items)));
  return out;
}

void tensors_in(const Json& json, const std::vector<FieldInfo>& fields, std::vector<std::string>& names) {
  for (const FieldInfo& field : fields) {
    const Json* value = json.find(field.name);
    if (value != nullptr && field.add_tensors != nullptr) field.add_tensors(*value, names);
  }
}

Json object_schema(const std::vector<FieldInfo>& fields) {
  Json properties = Json::object();
  std::vector<Json> required;
  for (const FieldInfo& field : fields) {
    Json property = field.schema.is(Json::Kind::object) ? field.schema : Json::object();
    if (field.kind != FieldKind::value) property.set("x-kind", std::string{to_string(field.kind)});
    property.set("description", field.doc);
    if (field.required) {
      required.emplace_back(field.name);
    } else {
      property.set("default", field.default_value);
    }
    properties.set(field.name, std::move(property));
  }
  Json out = typed("object");
  out.set("properties", std::move(properties));
  if (!required.empty()) out.set("required", Json::array(std::move(required)));
  out.set("additionalProperties", false);
  return out;
}

std::optional<bool> JsonCodec<bool>::read(const Json& json, std::vector<Error>& faults) {
  if (!json.is(Json::Kind::boolean)) return fault_type(json, "a boolean", faults), std::nullopt;
  return json.boolean();
}
Json JsonCodec<bool>::write(const bool& value) { return Json{value}; }
Json JsonCodec<bool>::schema() { return typed("boolean"); }
std::string JsonCodec<bool>::python_type() { return "bool"; }

std::optional<std::int64_t> JsonCodec<std::int64_t>::read(const Json& json, std::vector<Error>& faults) {
  return read_integer(json, faults);
}
Json JsonCodec<std::int64_t>::write(const std::int64_t& value) { return Json{value}; }
Json JsonCodec<std::int64_t>::schema() { return typed("integer"); }
std::string JsonCodec<std::int64_t>::python_type() { return "int"; }

std::optional<double> JsonCodec<double>::read(const Json& json, std::vector<Error>& faults) {
  if (!json.is(Json::Kind::integer) && !json.is(Json::Kind::number))
    return fault_type(json, "a float", faults), std::nullopt;
  if (!std::isfinite(json.number()))
    return fault_value(json, fmt::format("must be finite, found {}", json.number()), faults), std::nullopt;
  return json.number();
}
Json JsonCodec<double>::write(const double& value) { return Json{value}; }
Json JsonCodec<double>::schema() { return typed("number"); }
std::string JsonCodec<double>::python_type() { return "float"; }

std::optional<std::string> JsonCodec<std::string>::read(const Json& json, std::vector<Error>& faults) {
  if (!json.is(Json::Kind::string)) return fault_type(json, "a string", faults), std::nullopt;
  return json.string();
}
Json JsonCodec<std::string>::write(const std::string& value) { return Json{value}; }
Json JsonCodec<std::string>::schema() { return typed("string"); }
std::string JsonCodec<std::string>::python_type() { return "str"; }

std::optional<DType> JsonCodec<DType>::read(const Json& json, std::vector<Error>& faults) {
  if (const auto index = read_choice(json, dtype_names(), faults)) return static_cast<DType>(*index);
  return std::nullopt;
}
Json JsonCodec<DType>::write(const DType& value) { return Json{std::string{to_string(value)}}; }
Json JsonCodec<DType>::schema() { return choice_schema(dtype_names()); }
std::string JsonCodec<DType>::python_type() { return "str"; }

std::optional<Shape> JsonCodec<Shape>::read(const Json& json, std::vector<Error>& faults) {
  constexpr std::size_t max_rank = 16;
  if (!json.is(Json::Kind::array)) return fault_type(json, "a list", faults), std::nullopt;
  if (json.items().size() > max_rank) {
    fault_value(json, fmt::format("has {} dimensions; at most {} are allowed", json.items().size(), max_rank), faults);
    return std::nullopt;
  }
  const std::size_t before = faults.size();
  std::vector<std::int64_t> dims;
  for (const Json& item : json.items()) {
    const auto dim = read_integer(item, faults);
    if (!dim) continue;
    if (*dim < unknown_dim)
      fault_value(item, fmt::format("must be a size from 0 up, or -1 for an unknown one, found {}", *dim), faults);
    dims.push_back(*dim);
  }
  if (faults.size() != before) return std::nullopt;
  return Shape{std::move(dims)};
}
Json JsonCodec<Shape>::write(const Shape& value) { return JsonCodec<std::vector<std::int64_t>>::write(value.dims()); }
Json JsonCodec<Shape>::schema() {
  Json out = typed("array");
  Json items = typed("integer");
  items.set("minimum", -1);
  out.set("items", std::move(items));
  return out;
}
std::string JsonCodec<Shape>::python_type() { return "list[int]"; }

}  // namespace forebay
