// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/plan.h>
#include <forebay/plugin.h>

namespace forebay::plan {

/// Plans a pipeline document, whose relative paths begin at `folder`. On failure one error holds all faults.
[[nodiscard]] Result<Plan> build(const Json& document, const BindContext& context, const Registry& registry);

}  // namespace forebay::plan
