// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/plan.h>

#include "engine/program/program.h"
#include "plan/bind/stages.h"

namespace forebay::plan {

struct BoundDocument;  // plan/builder/bound_document.h

/// The visible columns: "name dtype shape, …".
[[nodiscard]] std::string columns_text(const Schema& schema);

/// What a plan, a branch or a stretch is made of, for its description.
struct PlanText {
  const engine::Program* program = nullptr;
  const Stages* stages = nullptr;
  std::vector<PlanText> branches;  ///< Of a combination.
  std::vector<PlanText> before;    ///< The stretches whose rows are the source.
};

/// That of a document, for what its parts are planned to be.
[[nodiscard]] PlanText text_of(const BoundDocument& document, const engine::Program& program);

/// The stages of a plan, with their options and where they run.
[[nodiscard]] std::vector<PlanStage> stages_of(const PlanText& plan, const std::vector<std::string>& inputs,
                                               const std::vector<std::string>& targets);

}  // namespace forebay::plan
