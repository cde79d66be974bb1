// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "plan/bind/bound_columns.h"
#include "plan/document/pipeline_document.h"

/// The branches of a combination as programs.
namespace forebay::plan {

/// A document, or a branch of it, that was bound without a fault. `document` of a branch: the members of the whole
/// document, with those of the branch.
struct BoundParts {
  const Stages& stages;
  const BoundColumns& columns;
  const PipelineDocument& document;
};

/// The option of a combination that lists its branches.
[[nodiscard]] std::string branches_option(const CombineType& type);

/// Complains about a batcher after a combination that looks at rows: they are decoded when their batch is made.
void check_combined_batches(const Stages& stages, const Batching& batching, Faults& faults);

/// What the program of a whole document and that of a branch have in common: the decoder, the orders, the early work
/// and what `epochs`, `deterministic` and `on_corrupt` say.
[[nodiscard]] engine::Program common_program(const BoundParts& bound, const Registry& registry);

/// Branches have seeds of their own, so that equal shuffles of two branches draw different orders.
[[nodiscard]] std::uint64_t seed_of_branch(const PipelineDocument& whole, std::size_t number);

/// Leaves out the columns of branch `number` that are not merged.
void project_branch(const Stages& stages, const std::vector<engine::MergedColumn>& merged, std::size_t number,
                    BoundColumns& columns, Faults& faults);

/// Whether a step of the program, branches apart, draws at random.
[[nodiscard]] bool draws(const engine::Program& program);
/// Sets how rows are told apart. A run keeps track of it only where a step draws.
void set_identity(engine::Program& program);
/// Whether rows come one after the other from the program.
[[nodiscard]] bool reads_once(const engine::Program& program);

}  // namespace forebay::plan
