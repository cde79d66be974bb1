// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/plan.h>
#include <forebay/plugin.h>

namespace forebay::plan {

/// Plans a pipeline document; `folder` is what its relative paths are relative to. Fails with every fault.
[[nodiscard]] Result<Plan> build(const Json& document, const std::string& folder, const Registry& registry);

}  // namespace forebay::plan
