// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <vector>

#include <forebay/field_types.h>
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

/// A worked example. A test runs every one. Tensors are JSON arrays, row first.
struct Example {
  std::string options;  ///< The plug-in's options, JSON.
  std::string in;       ///< The input, JSON; its form depends on the kind of plug-in (docs/plugins.md).
  std::string out;      ///< The expected output, JSON.
};

/// A plug-in as users see it. Its options are declared here and nowhere else.
struct Description {
  std::string name;
  std::string doc;  ///< One sentence.
  std::vector<FieldInfo> fields;
  std::vector<Example> examples;
  /// Adds the faults of `options` that can be found without knowing the tensors.
  std::function<void(const Json& options, std::vector<Error>& faults)> check = {};
  std::type_index options{typeid(void)};                ///< The type of the options struct.
  std::function<Json(const void* options)> write = {};  ///< An options struct as JSON.
};

/// Limits of a number, inclusive.
struct Range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
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

  [[nodiscard]] const std::vector<FieldInfo>& infos() const { return infos_; }

  /// Reads an object. Adds all faults, each with its place, in this order: unknown keys (with the nearest known name),
  /// missing keys, wrong types and ranges. No value is clipped.
  [[nodiscard]] std::optional<Options> read(const Json& json, std::vector<Error>& faults) const {
    const std::size_t before = faults.size();
    if (!check_keys(json, infos_, faults)) return std::nullopt;
    Options options{};
    for (const Reader& reader : readers_) reader(json, options, faults);
    if (faults.size() != before) return std::nullopt;
    return options;
  }
  /// The struct as JSON, every option written out.
  [[nodiscard]] Json write(const Options& options) const {
    Json out = Json::object();
    for (const auto& writer : writers_) writer(options, out);
    return out;
  }
  [[nodiscard]] Json schema() const { return object_schema(infos_); }
  /// Adds the tensors that the options name. The JSON may be of a wrong type.
  void add_tensors(const Json& json, std::vector<std::string>& names) const { tensors_in(json, infos_, names); }

 private:
  using Reader = std::function<void(const Json&, Options&, std::vector<Error>&)>;
  using Writer = std::function<void(const Options&, Json&)>;

  template <class T>
  Fields& add(std::string name, T Options::*member, std::string doc, Range range, bool required) {
    const Options defaults{};
    FieldInfo info{.name = name, .doc = std::move(doc), .required = required};
    if (!required) info.default_value = JsonCodec<T>::write(defaults.*member);
    info.schema = with_range(JsonCodec<T>::schema(), range);
    info.python_type = JsonCodec<T>::python_type();
    info.kind = kind_of<T>();
    info.add_tensors = &forebay::add_tensors<T>;
    infos_.push_back(std::move(info));
    readers_.push_back([name, member, range](const Json& json, Options& options, std::vector<Error>& faults) {
      const Json* value = json.find(name);
      if (value == nullptr) return;
      if (auto read = JsonCodec<T>::read(*value, faults)) {
        if (check_range(*read, range, name, *value, faults)) options.*member = *std::move(read);
      }
    });
    writers_.push_back(
        [name, member](const Options& options, Json& out) { out.set(name, JsonCodec<T>::write(options.*member)); });
    return *this;
  }

  std::vector<FieldInfo> infos_;
  std::vector<Reader> readers_;
  std::vector<Writer> writers_;
};

/// Builds the type object of one plug-in. `Type` is StepType, OrderType, …; src/steps/slice.cc shows how it is used.
template <class Type, class Options>
class Describer {
 public:
  Describer(std::string name, std::string doc, typename Type::template Bind<Options> bind) : bind_{bind} {
    description_.name = std::move(name), description_.doc = std::move(doc);
  }

  template <class T>
  Describer& field(std::string name, T Options::*member, std::string doc, Range range = {}) {
    fields_.field(std::move(name), member, std::move(doc), range);
    return *this;
  }
  template <class T>
  Describer& required(std::string name, T Options::*member, std::string doc, Range range = {}) {
    fields_.required(std::move(name), member, std::move(doc), range);
    return *this;
  }
  Describer& example(Example example) {
    description_.examples.push_back(std::move(example));
    return *this;
  }

  operator Type() {  // NOLINT: a description is returned as the type that it describes
    description_.fields = fields_.infos();
    description_.check = [fields = fields_](const Json& json, std::vector<Error>& faults) {
      static_cast<void>(fields.read(json, faults));
    };
    description_.options = typeid(Options);
    description_.write = [fields = fields_](const void* options) {
      return fields.write(*static_cast<const Options*>(options));
    };
    Type type;
    type.description = description_;
    type.bind = [fields = fields_, bind = bind_]<class... Context>(const Json& json, Context&&... context)
        -> std::invoke_result_t<typename Type::template Bind<Options>, const Options&, Context&...> {
      std::vector<Error> faults;
      auto options = fields.read(json, faults);
      if (!options) return Error::all(std::move(faults));
      auto bound = bind(*options, context...);
      if (!bound.ok()) return at_options(bound.error(), json);
      return bound;
    };
    return type;
  }

 private:
  Description description_;
  Fields<Options> fields_;
  typename Type::template Bind<Options> bind_;
};

}  // namespace forebay
