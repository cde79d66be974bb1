// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/rename.h>

#include "steps/output.h"

namespace forebay::steps {
namespace {

Result<Bound<Step>> bind(const Rename& options, const Schema& in) {
  FOREBAY_TRY(const ColumnId id, in.find(options.from).at(Field{"from"}));
  if (options.to != options.from) FOREBAY_DO(check_new_name(options.to, in).at(Field{"to"}));
  Schema out = in;
  out.rename(id, options.to);
  return Bound<Step>{.op = no_work(), .out = std::move(out)};
}

}  // namespace

StepType rename() {
  return describe<StepType, Rename>("rename", "Gives one tensor another name.", bind)
      .required("from", &Rename::from, "Tensor to rename.")
      .required("to", &Rename::to, "Its new name, which no other tensor has.")
      .example({.options = R"({"from": "a", "to": "x"})",
                .in = R"({"a": [1, 2], "b": [3, 4]})",
                .out = R"({"x": [1, 2], "b": [3, 4]})"});
}

}  // namespace forebay::steps
