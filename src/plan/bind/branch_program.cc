// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/branch_program.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/draw.h"

namespace forebay::plan {

namespace {

constexpr std::uint64_t branch_seed = 0xb7a4c;  // the purpose of the draw that is the seed of a branch

}  // namespace

std::string branches_option(const CombineType& type) {
  const auto lists = [](const FieldInfo& field) { return field.kind == FieldKind::branches; };
  const auto field = std::ranges::find_if(type.description.fields, lists);
  return field == type.description.fields.end() ? std::string{} : field->name;
}

void check_combined_batches(const Stages& stages, const Batching& batching, Faults& faults) {
  if (stages.combination == nullptr || (batching.attributes.empty() && batching.packs.empty())) return;
  misplace(*stages.batch_stage->options,
           fmt::format("'{}' looks at the lengths of rows before it cuts batches, and the rows of a combination are "
                       "decoded only after that; use 'batch'",
                       stages.batch_stage->plugin),
           faults);
}

engine::Program common_program(const BoundParts& bound, const Registry& registry) {
  const auto& [stages, columns, document] = bound;
  Faults none;  // has been read without faults
  engine::OnCorrupt on_corrupt = read_on_corrupt(document.on_corrupt.json, none);
  on_corrupt.looks = on_corrupt.policy == engine::Corrupt::skip_row && !columns.early.empty();
  return {.decoder = columns.decoder,
          .file_orders = orderings(stages.file_orders),
          .interleave = stages.interleave ? stages.interleave->ordering : in_file_order(registry),
          .record_orders = orderings(stages.record_orders),
          .orders_in_parts = stages.orders_in_parts,
          .early = columns.early,
          .decoded = columns.decoded,
          .epochs = document.epochs,
          .deterministic = document.deterministic,
          .on_corrupt = on_corrupt};
}

std::uint64_t seed_of_branch(const PipelineDocument& whole, std::size_t number) {
  return draw({.seed = static_cast<std::uint64_t>(whole.seed), .index = number, .purpose = branch_seed});
}

void project_branch(const Stages& stages, const std::vector<engine::MergedColumn>& merged, std::size_t number,
                    BoundColumns& columns, Faults& faults) {
  for (const engine::MergedColumn& column : merged) {
    if (column.from[number] != engine::MergedColumn::filled) columns.outputs.push_back({.id = column.from[number]});
  }
  project(stages, columns, faults);
  columns.outputs.clear();
}

bool draws(const engine::Program& program) {
  const auto draw = [](const engine::PlacedStep& step) { return step.draws; };
  return std::ranges::any_of(program.late, draw) || std::ranges::any_of(program.after, draw);
}

void set_identity(engine::Program& program) {
  using Identity = engine::Program::Identity;
  const bool again = program.batching.remainder == Remainder::repeat || engine::repeats(program) ||
                     std::ranges::any_of(program.branches, engine::repeats);
  program.telling = again ? Identity::occurrences : Identity::epochs;
  if (draws(program) || std::ranges::any_of(program.branches, draws)) program.identity = program.telling;
}

bool reads_once(const engine::Program& program) {
  if (std::ranges::any_of(program.branches, reads_once)) return true;
  return program.source.rows && !program.source.rows->resident();
}

}  // namespace forebay::plan
