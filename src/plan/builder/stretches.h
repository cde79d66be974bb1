// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "plan/builder/bound_document.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// Binds a branch of a combination: as it is written, or, where the engine has no way for that, in stretches. `whole`:
/// as of PlanBuilder::bind_branch. `batch_end`: the branch makes batches, and this is the tensor that says where they
/// end; empty: it must make none.
[[nodiscard]] std::unique_ptr<BoundDocument> bound_branch(const Json& branch, const Planning& planning,
                                                          const PipelineDocument& whole, const std::string& batch_end,
                                                          Faults& faults);

/// Plans a document in stretches. Its faults as it is written are `faults`, which become fewer where the stretches have
/// fewer; empty: it cannot be planned.
[[nodiscard]] std::optional<Plan> plan_in_stretches(const Json& document, const Planning& planning, Faults& faults);

}  // namespace forebay::plan
