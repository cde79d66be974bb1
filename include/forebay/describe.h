// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeindex>
#include <vector>

#include <forebay/field_types.h>
#include <forebay/fields.h>
#include <forebay/json.h>

namespace forebay {

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
    const auto table = std::make_shared<const FieldTable>(fields_.table());
    description_.fields = table->infos();
    description_.check = [table](const Json& json, std::vector<Error>& faults) {
      Options options{};
      static_cast<void>(table->read(json, &options, faults));
    };
    description_.options = typeid(Options);
    description_.write = [table](const void* options) { return table->write(options); };
    Type type;
    type.description = description_;
    type.bind = [table, bind = bind_]<class... Context>(const Json& json, Context&&... context)
        -> std::invoke_result_t<typename Type::template Bind<Options>, const Options&, Context&...> {
      std::vector<Error> faults;
      Options options{};
      if (!table->read(json, &options, faults)) return Error::all(std::move(faults));
      auto bound = bind(options, context...);
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
