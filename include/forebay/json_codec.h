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

/// What the values of a field stand for, as far as the planner or a generator must know it.
enum class FieldKind : std::uint8_t {
  value,            ///< Only the plug-in itself interprets it.
  paths,            ///< Paths and patterns of the data files.
  data_file,        ///< Path of a small file that the plug-in reads itself.
  tensor,           ///< A tensor that must be there, or several.
  new_tensor,       ///< A tensor that the plug-in makes.
  expression,       ///< An expression over tensors (docs/expressions.md).
  sizes_or_tensor,  ///< Sizes, or the tensor whose rows have them.
  dtype_or_tensor,  ///< An element type, or the tensor that has it.
  dtype,            ///< An element type.
  sizes,            ///< The shape of a row.
  bytes,            ///< A number of bytes, or text like "1GiB".
  shard,            ///< A part of the batches.
  binding,          ///< Name of an object that the program binds.
  branches,         ///< Documents of the branches of a combination.
  decoder,          ///< A decoder with its options.
};
[[nodiscard]] std::string_view to_string(FieldKind kind);

/// How a C++ type is read from JSON, written to JSON, and described. A specialisation has these static functions:
///
/// * `read(json, faults)`: the value, or nothing when there are faults; each fault is added with its place.
/// * `write(value)`: the value as JSON; `read` accepts it.
/// * `schema()`: the JSON Schema of its values.
/// * `python_type()`: the Python type of its JSON form, "list[int]".
/// * `kind` (may be left out): the FieldKind of its values.
/// * `add_tensors(json, names)` (may be left out): adds the tensors that a value names; the JSON may be of a wrong
/// type.
///
/// Types are strict: an integer is a JSON integer or a float within 1e-6 of one, never a bool; a float is any number,
/// never a bool; a string is never made from a number.
template <class T>
struct JsonCodec;

/// The kind of the values of T: FieldKind::value unless the codec declares another one.
template <class T>
[[nodiscard]] constexpr FieldKind kind_of() {
  if constexpr (requires { JsonCodec<T>::kind; }) return JsonCodec<T>::kind;
  return FieldKind::value;
}

/// Adds the tensors that a value of T names.
template <class T>
void add_tensors([[maybe_unused]] const Json& json, [[maybe_unused]] std::vector<std::string>& names) {
  if constexpr (requires { JsonCodec<T>::add_tensors(json, names); }) JsonCodec<T>::add_tensors(json, names);
}

// Implemented in src/config. The templates below and Fields call them.
/// Adds the fault that `found` has the wrong type.
void fault_type(const Json& found, std::string_view expected, std::vector<Error>& faults);
/// Adds a fault whose message begins with the name of `found`.
void fault_value(const Json& found, std::string message, std::vector<Error>& faults);
/// The error of a `bind` with places: each fault is at the option that its Field names, or where that option would be;
/// a fault without a Field is at `options`. A place that a fault has already stays.
[[nodiscard]] Error at_options(const Error& error, const Json& options);
/// An integer as JsonCodec describes it, or nothing and a fault.
[[nodiscard]] std::optional<std::int64_t> read_integer(const Json& json, std::vector<Error>& faults);
/// The index of a text in `names`, or nothing and a fault that names the nearest one.
[[nodiscard]] std::optional<std::size_t> read_choice(const Json& json, std::span<const std::string_view> names,
                                                     std::vector<Error>& faults);
/// Adds faults for unknown keys and for required ones that are missing. False: `json` is no object.
[[nodiscard]] bool check_keys(const Json& json, const std::vector<FieldInfo>& fields, std::vector<Error>& faults);
/// Adds the tensors that the members of an object of these fields name.
void tensors_in(const Json& json, const std::vector<FieldInfo>& fields, std::vector<std::string>& names);
[[nodiscard]] Json with_range(Json schema, const Range& range);
[[nodiscard]] bool in_range(std::int64_t value, const Range& range, std::string_view name, const Json& json,
                            std::vector<Error>& faults);
[[nodiscard]] bool in_range(double value, const Range& range, std::string_view name, const Json& json,
                            std::vector<Error>& faults);
[[nodiscard]] Json object_schema(const std::vector<FieldInfo>& fields);
[[nodiscard]] Json choice_schema(std::span<const std::string_view> names);

/// The reading of a list stops after this number of faults.
inline constexpr std::size_t max_item_faults = 20;

/// Whether a number, or each number in an optional or a list, is in the range; adds faults for those that are not.
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

/// The names of an enum's values, in the order of the enumerators. An enum with a specialisation has a codec.
template <class E>
struct EnumNames;

/// The fields of a struct: `static const Fields<T>& get()`. A struct with a specialisation has a codec.
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
#undef FOREBAY_CODEC
#define FOREBAY_CODEC(T, meaning)                                               \
  template <>                                                                   \
  struct JsonCodec<T> {                                                         \
    static constexpr FieldKind kind = meaning;                                  \
    static std::optional<T> read(const Json& json, std::vector<Error>& faults); \
    static Json write(const T& value);                                          \
    static Json schema();                                                       \
    static std::string python_type();                                           \
  }
FOREBAY_CODEC(DType, FieldKind::dtype);
FOREBAY_CODEC(Shape, FieldKind::sizes);  // a list of integers; -1 is an unknown dim
#undef FOREBAY_CODEC

}  // namespace forebay
