// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace forebay::plan {

class PlanBuilder;

/// The rows that come out of one stretch of the steps of a document, or of several, one behind the other. They are made
/// for the stages after them (made_rows.h).
struct MadeSource {
  std::vector<std::shared_ptr<const PlanBuilder>> stretches;
  std::shared_ptr<const engine::Program> program;  ///< Of the last stretch.
  Source source;                                   ///< Of what comes after it.
};

/// The source whose rows `program` makes: one part with this name, and the columns of `rows`.
[[nodiscard]] Source made_source(std::string name, Schema rows, const std::shared_ptr<const engine::Program>& program);
/// Whether a corrupt record is missing among the rows that a plan makes.
[[nodiscard]] bool skips_records(const engine::Program& program);
/// For a `zip` whose rows are made: a record that one branch skips takes its row out of all branches. `on_corrupt`
/// becomes the policy of those rows.
void leave_bad_rows(std::vector<engine::Program>& branches, engine::OnCorrupt& on_corrupt);

}  // namespace forebay::plan
