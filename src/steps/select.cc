// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/select.h>

#include <algorithm>

#include <fmt/core.h>

#include "steps/output.h"

namespace forebay::steps {
namespace {

Result<Bound<Step>> bind(const Select& options, const Schema& in) {
  std::vector<ColumnId> kept;
  for (const std::string& name : options.tensors) {
    FOREBAY_TRY(const ColumnId id, in.find(name).at(Field{"tensors"}));
    if (std::find(kept.begin(), kept.end(), id) != kept.end()) {
      return refusal(fmt::format("'{}' is named twice", name)).at(Field{"tensors"});
    }
    kept.push_back(id);
  }
  if (kept.empty()) return refusal("must name at least one tensor").at(Field{"tensors"});
  Schema out = in;
  out.keep(std::move(kept));
  return Bound<Step>{.op = no_work(), .out = std::move(out)};
}

}  // namespace

StepType select() {
  return describe<StepType, Select>("select", "Keeps some tensors and forgets the others.", bind)
      .required("tensors", &Select::tensors, "Tensors to keep, in the order they are to have.")
      .example({.options = R"({"tensors": ["c", "a"]})",
                .in = R"({"a": [1, 2], "b": [3, 4], "c": [5, 6]})",
                .out = R"({"c": [5, 6], "a": [1, 2]})"});
}

}  // namespace forebay::steps
