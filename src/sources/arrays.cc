// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/arrays.h>

#include "sources/binding.h"

namespace forebay::sources {
namespace {

Result<Source> bind_arrays(const Arrays& options, const BindContext& context) {
  return bound_rows(options.bind, context, true, "a dict of arrays");
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
