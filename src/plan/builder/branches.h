// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plan/builder/bound_document.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// Binds the branches of a combination, and the combination to them. `leaves_rows`: rows are made, so one whose record
/// is skipped in a branch can leave all of them.
void bind_branches(BoundDocument& whole, const Planning& planning, bool leaves_rows, Faults& faults);
/// Leaves out the columns of the branches that no stage after the combination needs.
void project_branches(BoundDocument& whole, Faults& faults);
/// The programs of the branches.
[[nodiscard]] std::vector<engine::Program> assemble_branches(const BoundDocument& whole, const Registry& registry);

}  // namespace forebay::plan
