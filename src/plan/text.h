// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"
#include "plan/bind/stages.h"

namespace forebay::plan {

/// The visible columns: "name dtype shape, …".
[[nodiscard]] std::string columns_text(const Schema& schema);

/// A plan as text: one line for each stage, with its options and where it runs. `branches`: the stages of the branches
/// of a combination.
[[nodiscard]] std::string plan_text(const engine::Program& program, const Stages& stages,
                                    const std::vector<const Stages*>& branches, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& targets);

}  // namespace forebay::plan
