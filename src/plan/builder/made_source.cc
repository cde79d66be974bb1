// SPDX-License-Identifier: Apache-2.0
#include "plan/builder/made_source.h"

#include <algorithm>
#include <utility>

#include "engine/run/made_rows.h"

namespace forebay::plan {

using engine::Program;

namespace {

/// Whether the rows of a plan end by themselves, and nobody waits for them.
bool ends(const Program& program) {
  if (program.made) return ends(*program.made);
  if (!program.branches.empty()) return std::ranges::all_of(program.branches, ends);
  const RowSource* const rows = program.source.rows.get();
  return rows == nullptr || rows->resident() || rows->collects;
}

/// Whether the rows of a plan can be read again; `exact`: whether they are the same then.
bool can_be_read_again(const Program& program, bool exact) {
  if (program.made) return can_be_read_again(*program.made, exact);
  const auto again = [&](const Program& branch) { return can_be_read_again(branch, exact); };
  if (!program.branches.empty()) return std::ranges::all_of(program.branches, again);
  const RowSource* const rows = program.source.rows.get();
  return rows == nullptr || rows->resident() || (rows->repeats && (rows->exact || !exact));
}

}  // namespace

Source made_source(std::string name, Schema rows, const std::shared_ptr<const Program>& program) {
  auto made = std::make_shared<RowSource>();
  made->schema = std::move(rows);
  made->parts.push_back(engine::made_part(name, program));
  made->repeats = can_be_read_again(*program, false);
  made->exact = can_be_read_again(*program, true);
  made->collects = ends(*program);
  made->charged = true;
  Source out;
  out.files = {std::move(name)};
  out.rows = std::move(made);
  return out;
}

bool skips_records(const Program& program) {
  if (program.made) return skips_records(*program.made);
  if (!program.branches.empty()) return std::ranges::any_of(program.branches, skips_records);
  return program.source.format && program.on_corrupt.policy != engine::Corrupt::fail;
}

void leave_bad_rows(std::vector<Program>& branches, engine::OnCorrupt& on_corrupt) {
  for (Program& branch : branches) {
    if (branch.on_corrupt.policy != engine::Corrupt::skip_record || !branch.source.format) continue;
    branch.on_corrupt.policy = engine::Corrupt::skip_row;
    on_corrupt = branch.on_corrupt;
  }
}

}  // namespace forebay::plan
