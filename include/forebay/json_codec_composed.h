// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/json_codec.h>

/// Codecs of types that are made of others: optional, list, map, enum and struct.
namespace forebay {

template <class T>
struct JsonCodec<std::optional<T>> {  // null is empty
  static constexpr FieldKind kind = kind_of<T>();
  static void add_tensors(const Json& json, std::vector<std::string>& names) { forebay::add_tensors<T>(json, names); }
  static std::optional<std::optional<T>> read(const Json& json, std::vector<Error>& faults) {
    if (json.is(Json::Kind::null)) return std::optional<std::optional<T>>{std::in_place};
    auto value = JsonCodec<T>::read(json, faults);
    if (!value) return std::nullopt;
    return std::optional<T>{*std::move(value)};
  }
  static Json write(const std::optional<T>& value) { return value ? JsonCodec<T>::write(*value) : Json{}; }
  static Json schema() {
    Json null = Json::object();
    null.set("type", "null");
    Json any = Json::object();
    any.set("anyOf", Json::array({JsonCodec<T>::schema(), std::move(null)}));
    return any;
  }
  static std::string python_type() { return JsonCodec<T>::python_type() + " | None"; }
};

template <class T>
struct JsonCodec<std::vector<T>> {
  static constexpr FieldKind kind = kind_of<T>();
  static void add_tensors(const Json& json, std::vector<std::string>& names) {
    for (const Json& item : json.items()) forebay::add_tensors<T>(item, names);
  }
  static std::optional<std::vector<T>> read(const Json& json, std::vector<Error>& faults) {
    if (!json.is(Json::Kind::array)) return fault_type(json, "a list", faults), std::nullopt;
    std::vector<T> out;
    const std::size_t before = faults.size();
    for (const Json& item : json.items()) {
      if (auto value = JsonCodec<T>::read(item, faults)) out.push_back(*std::move(value));
      if (faults.size() - before >= max_item_faults) break;
    }
    if (faults.size() != before) return std::nullopt;
    return out;
  }
  static Json write(const std::vector<T>& value) {
    std::vector<Json> items;
    for (const T& item : value) items.push_back(JsonCodec<T>::write(item));
    return Json::array(std::move(items));
  }
  static Json schema() {
    Json out = Json::object();
    out.set("type", "array");
    out.set("items", JsonCodec<T>::schema());
    return out;
  }
  static std::string python_type() { return "list[" + JsonCodec<T>::python_type() + "]"; }
};

/// An object with any keys, as a list of (key, T) in the order of the document.
template <class T>
struct JsonCodec<std::vector<std::pair<std::string, T>>> {
  using Map = std::vector<std::pair<std::string, T>>;
  static std::optional<Map> read(const Json& json, std::vector<Error>& faults) {
    if (!json.is(Json::Kind::object)) return fault_type(json, "an object", faults), std::nullopt;
    Map out;
    const std::size_t before = faults.size();
    for (const auto& [key, item] : json.members()) {
      if (auto value = JsonCodec<T>::read(item, faults)) out.emplace_back(key, *std::move(value));
      if (faults.size() - before >= max_item_faults) break;
    }
    if (faults.size() != before) return std::nullopt;
    return out;
  }
  static Json write(const Map& value) {
    Json out = Json::object();
    for (const auto& [key, item] : value) out.set(key, JsonCodec<T>::write(item));
    return out;
  }
  static Json schema() {
    Json out = Json::object();
    out.set("type", "object");
    out.set("additionalProperties", JsonCodec<T>::schema());
    return out;
  }
  static std::string python_type() { return "dict[str, " + JsonCodec<T>::python_type() + "]"; }
};

template <class E>
requires std::is_enum_v<E> && requires { EnumNames<E>::names; }
struct JsonCodec<E> {
  static std::optional<E> read(const Json& json, std::vector<Error>& faults) {
    if (auto index = read_choice(json, EnumNames<E>::names, faults)) return static_cast<E>(*index);
    return std::nullopt;
  }
  static Json write(E value) { return Json{std::string{EnumNames<E>::names[static_cast<std::size_t>(value)]}}; }
  static Json schema() { return choice_schema(EnumNames<E>::names); }
  static std::string python_type() { return "str"; }
};

template <class T>
requires requires { FieldsOf<T>::get(); }
struct JsonCodec<T> {
  static std::optional<T> read(const Json& json, std::vector<Error>& faults) {
    return FieldsOf<T>::get().read(json, faults);
  }
  static Json write(const T& value) { return FieldsOf<T>::get().write(value); }
  static Json schema() { return FieldsOf<T>::get().schema(); }
  static std::string python_type() { return "dict[str, object]"; }
  static void add_tensors(const Json& json, std::vector<std::string>& names) {
    FieldsOf<T>::get().add_tensors(json, names);
  }
};

}  // namespace forebay
