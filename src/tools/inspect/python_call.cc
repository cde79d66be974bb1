// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/python_call.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <forebay/printable.h>

namespace forebay::tools {

namespace {

constexpr std::size_t line_width = 100;

std::string list_of(const Json& list) {
  std::string out = "[";
  for (const Json& item : list.items()) out += (out.size() > 1 ? ", " : "") + python_literal(item);
  return out + "]";
}

std::string dict_of(const Json& object) {
  std::string out = "{";
  for (const auto& [name, value] : object.members())
    out += (out.size() > 1 ? ", " : "") + python_literal(Json{name}) + ": " + python_literal(value);
  return out + "}";
}

/// Arguments with a comma before each.
std::string keywords_of(const Json& options, std::initializer_list<std::string_view> without) {
  std::string out;
  for (const auto& [name, value] : options.members()) {
    if (std::find(without.begin(), without.end(), name) == without.end())
      out += ", " + (name == "as" ? "as_" : name) + "=" + python_literal(value);
  }
  return out;
}

/// fb.fixed("int64", [3], default=…), fb.var_len("int64"): a function for each kind.
std::string feature_of_python(const Json& options) {
  const Json* const kind = options.find("kind");
  const Json* const shape = options.find("shape");
  const std::string name = kind == nullptr || kind->string() == "fixed_len" ? "fixed" : kind->string();
  return fmt::format("fb.{}({}{}{})", name, python_literal(*options.find("dtype")),
                     shape == nullptr ? "" : ", " + python_literal(*shape),
                     keywords_of(options, {"kind", "dtype", "shape"}));
}

std::string features_of_python(const Json& features, const std::string& indent) {
  std::string out = "{\n";
  for (const auto& [name, options] : features.members())
    out += fmt::format("{}    {}: {},\n", indent, python_literal(Json{name}), feature_of_python(options));
  return out + indent + "}";
}

/// One argument of a decoder, on lines of its own when it is a mapping.
std::string argument_of(const std::string& name, const Json& value, const std::string& indent) {
  if (name == "features" || name == "context" || name == "lists") return name + "=" + features_of_python(value, indent);
  if (!value.is(Json::Kind::object)) return name + "=" + python_literal(value);
  std::string out = name + "={\n";
  for (const auto& [key, each] : value.members())
    out += fmt::format("{}    {}: {},\n", indent, python_literal(Json{key}), python_literal(each));
  return out + indent + "}";
}

std::string decoder_of(const Json& decode, const std::string& indent) {
  if (decode.members().empty()) return {};
  const auto& [name, options] = decode.members().front();
  std::string arguments;
  for (const auto& [option, value] : options.members())
    arguments += (arguments.empty() ? "" : ", ") + argument_of(option, value, indent);
  return fmt::format("{}.{}({})\n", indent, name, arguments);
}

std::string source_of_python(const Json& source) {
  const auto& [name, options] = source.members().front();
  const Json* first = options.find("files");
  if (first == nullptr) first = options.find("arrays");
  std::string files = first == nullptr ? "" : python_literal(*first);
  if (files.size() > line_width && first->is(Json::Kind::array)) {
    files = "[\n";
    for (const Json& file : first->items()) files += "            " + python_literal(file) + ",\n";
    files += "        ]";
  }
  const bool by_name = options.find("files") == nullptr;
  return fmt::format("fb.{}({}{})", name, files,
                     by_name ? keywords_of(options, {"arrays"}) : keywords_of(options, {"files"}));
}

}  // namespace

std::string python_literal(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return "None";
    case Json::Kind::boolean:
      return value.boolean() ? "True" : "False";
    case Json::Kind::string:
      return visible_json(value.text());
    case Json::Kind::array:
      return list_of(value);
    case Json::Kind::object:
      return dict_of(value);
    default:
      return value.text();
  }
}

std::string python_call(const Json& document) {
  const std::string indent(8, ' ');
  std::string out = "import forebay as fb\n\npipe = (" + source_of_python(*document.find("source")) + "\n";
  if (const Json* const decode = document.find("decode")) out += decoder_of(*decode, indent);
  for (const Json& step : document.find("steps")->items()) {
    const auto& [name, options] = step.members().front();
    const std::string arguments = keywords_of(options, {});
    out += fmt::format("{}.{}({})\n", indent, name, arguments.empty() ? "" : arguments.substr(2));
  }
  if (const Json* const policy = document.find("on_corrupt"))
    out += fmt::format("{}.on_corrupt({})\n", indent, python_literal(*policy));
  out.pop_back();
  return out + ")\n";
}

}  // namespace forebay::tools
