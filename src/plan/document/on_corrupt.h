// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/program/on_corrupt.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// A document's `on_corrupt`: "fail", "skip_record" or "skip_file", or an object with `policy` and budgets.
struct PolicyOrBudgets {
  Json json = "fail";
};

/// Reads `on_corrupt`. Parts that are left out or wrong have their defaults.
[[nodiscard]] engine::OnCorrupt read_on_corrupt(const Json& json, Faults& faults);

}  // namespace forebay::plan

namespace forebay {

template <>
struct JsonCodec<plan::PolicyOrBudgets> {
  static std::optional<plan::PolicyOrBudgets> read(const Json& json, std::vector<Error>& faults);
  static Json write(const plan::PolicyOrBudgets& value) { return value.json; }
  static Json schema();
  static std::string python_type() { return "str | dict[str, object]"; }
};

}  // namespace forebay
