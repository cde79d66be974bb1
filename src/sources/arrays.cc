// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/arrays.h>

#include <fmt/core.h>

#include <forebay/messages.h>

namespace forebay::sources {
namespace {

Result<Source> bind_arrays(const Arrays& options, const BindContext& context) {
  const auto found = context.bindings.find(options.bind);
  if (found != context.bindings.end() && found->second) return rows_of(found->second);
  if (context.bindings.empty()) {
    return Error{Code::config, Detail::not_found,
                 fmt::format("the program binds no object; give arrays to the call that loads the document: bind={{{}: "
                             "{{\"x\": array, …}}}}",
                             quote(options.bind))}
        .at(Field{"bind"});
  }
  std::vector<std::string> names;
  for (const auto& [name, rows] : context.bindings) names.push_back(name);
  return Error{Code::config, Detail::not_found,
               fmt::format("the program binds no {}{}", quote(options.bind), among(options.bind, names, "it binds"))}
      .at(Field{"bind"});
}

}  // namespace

SourceType arrays() {
  return describe<SourceType, Arrays>("arrays", "Reads arrays that the program holds, row by row; nothing is decoded.",
                                      bind_arrays)
      .required("bind", &Arrays::bind, "Name of the object that the program binds: a dict of arrays of equal length.")
      .example({.options = R"({"bind": "in"})",
                .in = R"({"x": [1, 2, 3], "name": ["a", "", "c"]})",
                .out = R"({"x": [1, 2, 3], "name": ["a", "", "c"]})"})
      .example({.options = R"({"bind": "in"})",
                .in = R"({"x": [[1.5, 2.0], [3.0, 4.0]]})",
                .out = R"({"x": [[1.5, 2.0], [3.0, 4.0]]})"});
}

}  // namespace forebay::sources
