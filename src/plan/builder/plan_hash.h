// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/program/plan_access.h"
#include "plan/builder/bound_document.h"

namespace forebay::plan {

/// Fills the hashes of a plan in and returns the one of its stream (Program::stream). The files are those of the
/// program: those of the document were moved there.
[[nodiscard]] std::uint64_t hash_plan(const BoundDocument& document, const engine::Program& program,
                                      const Registry& registry, PlanAccess::Parts& parts);
/// Signs the attributes of the branches: with the hashes that they have in a document of their own, which then shares
/// what is stored of its files.
void sign_branches(const BoundDocument& document, const Registry& registry, engine::Program& program);

}  // namespace forebay::plan
