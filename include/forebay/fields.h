// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/json.h>
#include <forebay/json_codec.h>
#include <forebay/json_codec_composed.h>

namespace forebay {

/// One option of a plug-in, as documents and generators see it. Fields makes it from a member of the options struct.
struct FieldInfo {
  std::string name;
  std::string doc;
  bool required = false;
  Json default_value = {};            ///< The value when it is left out; null when required.
  Json schema = {};                   ///< JSON Schema of its value, with the range.
  std::string python_type = {};       ///< Python type of its JSON value: "int", "list[str]", …
  FieldKind kind = FieldKind::value;  ///< What its value stands for; for a list, what each item stands for.
  /// Adds the tensors that a value of this option names. The JSON may be of a wrong type.
  void (*add_tensors)(const Json& value, std::vector<std::string>& names) = nullptr;
};

/// Limits of a number, inclusive.
struct Range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// The codec of a type of option, without the type: what is compiled once for each type, and not for each option.
struct OptionType {
  /// Reads into the T at `to`; adds the faults and leaves it as it was when it is of a wrong type or out of the range.
  void (*read)(const Json& json, void* to, const Range& range, std::string_view name, std::vector<Error>& faults);
  Json (*write)(const void* value);  ///< Of the T at `value`.
  Json (*schema)();
  std::string (*python_type)();
  FieldKind kind;
  void (*add_tensors)(const Json& json, std::vector<std::string>& names);
};

template <class T>
void read_option(const Json& json, void* to, const Range& range, std::string_view name, std::vector<Error>& faults) {
  auto value = JsonCodec<T>::read(json, faults);
  if (value && check_range(*value, range, name, json, faults)) *static_cast<T*>(to) = *std::move(value);
}
template <class T>
[[nodiscard]] Json write_option(const void* value) {
  return JsonCodec<T>::write(*static_cast<const T*>(value));
}
template <class T>
inline constexpr OptionType option_type{&read_option<T>,       &write_option<T>,
                                        &JsonCodec<T>::schema, &JsonCodec<T>::python_type,
                                        kind_of<T>(),          &forebay::add_tensors<T>};

/// The fields of an options struct that is known by its address alone. Fields is the one for a struct.
class FieldTable {
 public:
  /// Adds the member `offset` bytes into the struct; its default is the one in `defaults`, a struct of that type.
  void add(std::string name, std::string doc, const Range& range, bool required, const OptionType& type,
           std::size_t offset, const void* defaults);

  [[nodiscard]] const std::vector<FieldInfo>& infos() const { return infos_; }
  /// Reads an object into the struct at `options`, as Fields::read does. False: there are faults.
  [[nodiscard]] bool read(const Json& json, void* options, std::vector<Error>& faults) const;
  [[nodiscard]] Json write(const void* options) const;

 private:
  struct Member {
    const OptionType* type;
    std::size_t offset;
    Range range;
  };

  std::vector<FieldInfo> infos_;
  std::vector<Member> members_;  // of infos_
};

/// The fields of an options struct: how JSON becomes the struct, and the documentation of each field.
template <class Options>
class Fields {
 public:
  /// An option that may be left out. Its default is the member's initialiser in the struct.
  template <class T>
  Fields& field(std::string name, T Options::*member, std::string doc, Range range = {}) {
    return add(std::move(name), member, std::move(doc), range, false);
  }
  /// An option that must be given.
  template <class T>
  Fields& required(std::string name, T Options::*member, std::string doc, Range range = {}) {
    return add(std::move(name), member, std::move(doc), range, true);
  }

  [[nodiscard]] const FieldTable& table() const { return table_; }
  [[nodiscard]] const std::vector<FieldInfo>& infos() const { return table_.infos(); }

  /// Reads an object. Adds all faults, each with its place, in this order: unknown keys (with the nearest known name),
  /// missing keys, wrong types and ranges. No value is clipped.
  [[nodiscard]] std::optional<Options> read(const Json& json, std::vector<Error>& faults) const {
    std::optional<Options> options{std::in_place};
    if (!table_.read(json, &*options, faults)) options.reset();
    return options;
  }
  /// The struct as JSON, every option written out.
  [[nodiscard]] Json write(const Options& options) const { return table_.write(&options); }
  [[nodiscard]] Json schema() const { return object_schema(infos()); }
  /// Adds the tensors that the options name. The JSON may be of a wrong type.
  void add_tensors(const Json& json, std::vector<std::string>& names) const { tensors_in(json, infos(), names); }

 private:
  [[nodiscard]] static const Options& defaults() {
    static const Options options{};
    return options;
  }

  template <class T>
  Fields& add(std::string name, T Options::*member, std::string doc, const Range& range, bool required) {
    const auto* first = reinterpret_cast<const std::byte*>(&defaults());
    const auto* its = reinterpret_cast<const std::byte*>(&(defaults().*member));
    table_.add(std::move(name), std::move(doc), range, required, option_type<T>, static_cast<std::size_t>(its - first),
               first);
    return *this;
  }

  FieldTable table_;
};

}  // namespace forebay
