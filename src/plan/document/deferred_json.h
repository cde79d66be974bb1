// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <forebay/json_codec.h>

/// Members of documents that are read in two steps. The codec only checks the kind of JSON; the code that uses the
/// member reads its content. The JSON Schema describes both at once.
namespace forebay::plan {

/// Any JSON, of a kind that the planner reads itself.
template <FieldKind meaning>
struct JsonOf {
  Json json;
};

/// A list of T.
template <class T>
struct ListOf {
  Json json = Json::array();
};

/// An object that is one of T….
template <class... T>
struct OneOf {
  Json json = Json::object();
};

/// The object of a stage. The planner reads it where it lies in the document, so it is not copied: it may name a
/// million files.
struct StageObject {};

/// true, false, or a list of T.
template <class T>
struct FlagOrList {
  Json json = Json::array();
};

/// A list of integers, or text.
struct ListOrText {
  Json json;
};

[[nodiscard]] Json any_of(std::vector<Json> schemas);
[[nodiscard]] Json list_schema(Json items);
[[nodiscard]] Json type_schema(const char* type);

}  // namespace forebay::plan

namespace forebay {

template <FieldKind meaning>
struct JsonCodec<plan::JsonOf<meaning>> {
  static constexpr FieldKind kind = meaning;
  static std::optional<plan::JsonOf<meaning>> read(const Json& json, std::vector<Error>&) {
    return plan::JsonOf<meaning>{json};
  }
  static Json write(const plan::JsonOf<meaning>& value) { return value.json; }
  static Json schema() { return Json::object(); }
  static std::string python_type() { return "object"; }
};

template <class T>
struct JsonCodec<plan::ListOf<T>> {
  static std::optional<plan::ListOf<T>> read(const Json& json, std::vector<Error>& faults) {
    if (!json.is(Json::Kind::array)) return fault_type(json, "a list", faults), std::nullopt;
    return plan::ListOf<T>{json};
  }
  static Json write(const plan::ListOf<T>& value) { return value.json; }
  static Json schema() { return plan::list_schema(JsonCodec<T>::schema()); }
  static std::string python_type() { return "list[dict[str, object]]"; }
};

template <class... T>
struct JsonCodec<plan::OneOf<T...>> {
  static std::optional<plan::OneOf<T...>> read(const Json& json, std::vector<Error>& faults) {
    if (!json.is(Json::Kind::object)) return fault_type(json, "an object", faults), std::nullopt;
    return plan::OneOf<T...>{json};
  }
  static Json write(const plan::OneOf<T...>& value) { return value.json; }
  static Json schema() {
    if constexpr (sizeof...(T) == 0)
      return plan::type_schema("object");
    else
      return plan::any_of({JsonCodec<T>::schema()...});
  }
  static std::string python_type() { return "dict[str, object]"; }
};

template <>
struct JsonCodec<plan::StageObject> {
  static std::optional<plan::StageObject> read(const Json& json, std::vector<Error>& faults) {
    if (!json.is(Json::Kind::object)) return fault_type(json, "an object", faults), std::nullopt;
    return plan::StageObject{};
  }
  static Json write(const plan::StageObject&) { return Json::object(); }
  static Json schema() { return plan::type_schema("object"); }
  static std::string python_type() { return "dict[str, object]"; }
};

template <class T>
struct JsonCodec<plan::FlagOrList<T>> {
  static std::optional<plan::FlagOrList<T>> read(const Json& json, std::vector<Error>& faults) {
    if (!json.is(Json::Kind::array) && !json.is(Json::Kind::boolean)) {
      return fault_type(json, "a boolean or a list", faults), std::nullopt;
    }
    return plan::FlagOrList<T>{json};
  }
  static Json write(const plan::FlagOrList<T>& value) { return value.json; }
  static Json schema() {
    return plan::any_of({plan::type_schema("boolean"), plan::list_schema(JsonCodec<T>::schema())});
  }
  static std::string python_type() { return "bool | list[dict[str, object]]"; }
};

template <>
struct JsonCodec<plan::ListOrText> {
  static std::optional<plan::ListOrText> read(const Json& json, std::vector<Error>& faults);
  static Json write(const plan::ListOrText& value) { return value.json; }
  static Json schema();
  static std::string python_type() { return "list[int] | str"; }
};

}  // namespace forebay
