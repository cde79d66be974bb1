// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <forebay/plan.h>
#include <forebay/plugin.h>

#include "engine/program/plan_access.h"

namespace forebay::plan {

/// Plans a pipeline document. On failure one error holds all faults. Without `checks` no data file is asked for.
[[nodiscard]] Result<Plan> build(const Json& document, const BindContext& context, const Registry& registry,
                                 std::optional<FileChecks> checks);

/// The document of the plan with a list of its files, whose paths are absolute. Made anew by each call.
[[nodiscard]] Json lowered(const PlanAccess::Parts& parts);

}  // namespace forebay::plan
