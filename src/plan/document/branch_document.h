// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "plan/document/pipeline_document.h"

namespace forebay::plan {

/// A branch of a combination.
struct BranchDocument {
  StageObject source;
  std::optional<StageObject> decode;
  ListOf<StageObject> steps;
  bool repeat = false;
  std::optional<PolicyOrBudgets> on_corrupt;
};

/// Reads the members of a branch; those that could not be read have their defaults.
[[nodiscard]] BranchDocument read_branch(const Json& json, Faults& faults);

/// The document around a branch, with what the branch says itself.
[[nodiscard]] PipelineDocument around_branch(PipelineDocument whole, const BranchDocument& branch);

/// The members of a branch, as users see them.
[[nodiscard]] const std::vector<FieldInfo>& branch_infos();

/// JSON Schema of a branch without the plug-ins.
[[nodiscard]] Json branch_schema();

}  // namespace forebay::plan
