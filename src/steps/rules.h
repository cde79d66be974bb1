// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <forebay/plugin.h>

#include "base/keep.h"

namespace forebay::steps {

/// Adds checks of options that do not depend on the tensors to a step. `rules` is called with options of the right
/// types. `bind` must refuse all options that `rules` refuses.
[[nodiscard]] inline StepType with_rules(StepType type, Result<void> (*rules)(const Json& options)) {
  type.description.check = [read = std::move(type.description.check), rules](const Json& options,
                                                                             std::vector<Error>& faults) {
    const std::size_t before = faults.size();
    read(options, faults);
    if (faults.size() != before) return;
    if (const auto done = rules(options); !done.ok()) keep(at_options(done.error(), options), faults);
  };
  return type;
}

}  // namespace forebay::steps
