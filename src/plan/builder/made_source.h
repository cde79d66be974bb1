// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace forebay::plan {

/// The source whose rows `program` makes: one part with this name, and the columns of `rows`.
[[nodiscard]] Source made_source(std::string name, Schema rows, const std::shared_ptr<const engine::Program>& program);
/// Whether a corrupt record is missing among the rows that a plan makes.
[[nodiscard]] bool skips_records(const engine::Program& program);
/// For a `zip` whose rows are made: a record that one branch skips takes its row out of all branches. `on_corrupt`
/// becomes the policy of those rows.
void leave_bad_rows(std::vector<engine::Program>& branches, engine::OnCorrupt& on_corrupt);

}  // namespace forebay::plan
