// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/json.h>
#include <forebay/schema.h>

namespace forebay {

struct FieldInfo;
struct Range;
template <class Options>
class Fields;

/// How a C++ type is read from JSON, written to it, and described. `read` reports every fault with its place.
///
/// The type rules are those of the JSON loader: an integer is a JSON integer or a float within 1e-6 of one, never a
/// bool; a float is any number, never a bool; a string is never made from a number (spec: D71).
template <class T>
struct JsonCodec;

// Implemented in src/config; templates below and Fields call them.
void fault_type(const Json& found, std::string_view expected, std::vector<Error>& faults);
void fault_value(const Json& found, std::string message, std::vector<Error>& faults);
[[nodiscard]] std::optional<std::int64_t> read_integer(const Json& json, std::vector<Error>& faults);
[[nodiscard]] std::optional<std::size_t> read_choice(const Json& json, std::span<const std::string_view> names,
                                                     std::vector<Error>& faults);
/// Faults for unknown keys and for required ones that are missing; false when `json` is no object at all.
[[nodiscard]] bool check_keys(const Json& json, const std::vector<FieldInfo>& fields, std::vector<Error>& faults);
[[nodiscard]] Json with_range(Json schema, const Range& range);
[[nodiscard]] bool in_range(std::int64_t value, const Range& range, std::string_view name, const Json& json,
                            std::vector<Error>& faults);
[[nodiscard]] bool in_range(double value, const Range& range, std::string_view name, const Json& json,
                            std::vector<Error>& faults);
[[nodiscard]] Json object_schema(const std::vector<FieldInfo>& fields);
[[nodiscard]] Json choice_schema(std::span<const std::string_view> names);

/// A list with very many faults reports this many of them.
inline constexpr std::size_t max_item_faults = 20;

/// Faults for a number, or a number in an optional or a list, that is outside the range.
template <class T>
[[nodiscard]] bool check_range(const T& value, const Range& range, std::string_view name, const Json& json,
                               std::vector<Error>& faults) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
    return in_range(static_cast<Wide>(value), range, name, json, faults);
  } else if constexpr (requires {
                         value.has_value();
                         *value;
                       }) {
    return !value.has_value() || check_range(*value, range, name, json, faults);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<double>>) {
    const std::size_t before = faults.size();
    for (std::size_t i = 0; i < value.size() && faults.size() - before < max_item_faults; ++i) {
      static_cast<void>(check_range(value[i], range, name, json.items()[i], faults));
    }
    return faults.size() == before;
  } else {
    return true;
  }
}

/// Names of an enum's values, in order: specialise it and the enum has a codec.
template <class E>
struct EnumNames;

/// Specialise with `static const Fields<T>& get()` and a struct has a codec, nested structs included.
template <class T>
struct FieldsOf;

template <>
struct JsonCodec<Json> {
  static std::optional<Json> read(const Json& json, std::vector<Error>&) { return json; }
  static Json write(const Json& value) { return value; }
  static Json schema() { return Json::object(); }
  static std::string python_type() { return "object"; }
};
#define FOREBAY_CODEC(T)                                                        \
  template <>                                                                   \
  struct JsonCodec<T> {                                                         \
    static std::optional<T> read(const Json& json, std::vector<Error>& faults); \
    static Json write(const T& value);                                          \
    static Json schema();                                                       \
    static std::string python_type();                                           \
  }
FOREBAY_CODEC(bool);
FOREBAY_CODEC(std::int64_t);
FOREBAY_CODEC(double);
FOREBAY_CODEC(std::string);
FOREBAY_CODEC(DType);
FOREBAY_CODEC(Shape);  // a list of integers; -1 is an unknown dim
#undef FOREBAY_CODEC

}  // namespace forebay
