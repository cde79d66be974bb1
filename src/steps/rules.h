// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <forebay/plugin.h>

namespace forebay::steps {

/// The step with more rules for its options: those that need no tensor. `rules` sees options that could be read; what
/// it refuses, binding must refuse, too.
[[nodiscard]] inline StepType with_rules(StepType type, Result<void> (*rules)(const Json& options)) {
  type.description.check = [read = std::move(type.description.check), rules](const Json& options,
                                                                             std::vector<Error>& faults) {
    const std::size_t before = faults.size();
    read(options, faults);
    if (faults.size() != before) return;
    if (const auto done = rules(options); !done.ok()) faults.push_back(done.error().at(options.place()));
  };
  return type;
}

}  // namespace forebay::steps
