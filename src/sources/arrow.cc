// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/arrow.h>

#include "sources/binding.h"

namespace forebay::sources {
namespace {

Result<Source> bind_arrow(const Arrow& options, const BindContext& context) {
  const auto found = context.bindings.find(options.bind);
  if (found != context.bindings.end() && found->second.table()) {
    FOREBAY_TRY(auto rows, found->second.table()->rows(options));
    return rows_of(std::move(rows));
  }
  const bool plain = options.columns.empty() && options.nulls.empty() && options.present.empty();
  if (plain) return bound_rows(options.bind, context, true, "a table");
  FOREBAY_TRY(const Source rows, bound_rows(options.bind, context, true, "a table"));
  return Error{Code::config, Detail::invalid_argument,
               "arrays are bound under this name; 'columns', 'nulls' and 'present' are for tables"}
      .at(Field{"bind"});
}

}  // namespace

SourceType arrow() {
  return describe<SourceType, Arrow>(
             "arrow", "Reads a table of the program that has the memory layout of Apache Arrow; nothing is decoded.",
             bind_arrow)
      .required("bind", &Arrow::bind, "Name of the object that the program binds: a table, a stream or files.")
      .field("columns", &Arrow::columns, "Columns of the table that are read; empty: all.")
      .field("nulls", &Arrow::nulls,
             "By tensor, the value of its nulls; a null of another tensor is an error. A list that is null is empty.")
      .field("present", &Arrow::present,
             "Tensors beside which a boolean one, present(x), says which rows are no nulls; their nulls are 0, false "
             "or \"\", or what nulls says.")
      .field("dictionaries", &Arrow::dictionaries,
             "Whether a column with a dictionary gives codes or values; auto: codes for strings of tables in memory.")
      .example({.options = R"({"bind": "in"})",
                .in = R"({"x": [1, 2, 3], "name": ["a", "", "c"]})",
                .out = R"({"x": [1, 2, 3], "name": ["a", "", "c"]})"});
}

}  // namespace forebay::sources
