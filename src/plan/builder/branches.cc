// SPDX-License-Identifier: Apache-2.0
#include "plan/builder/branches.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "engine/order/branches/open_branches.h"
#include "engine/run/made_rows.h"
#include "plan/bind/branch_program.h"
#include "plan/bind/side_by_side.h"
#include "plan/builder/branch_batches.h"
#include "plan/builder/made_source.h"
#include "plan/builder/stretches.h"
#include "plan/document/merged_columns.h"
#include "plan/document/names.h"

#include <forebay/messages.h>

namespace forebay::plan {

using engine::Program;

namespace {

/// Program::bind_again
auto binder_of(const CombineType& type, const Json& options, const BranchList& known) {
  return [bind = type.bind, options, known, may_change = type.may_change](const std::string& changing,
                                                                          std::size_t branches) -> Result<Combining> {
    Json own = options;
    if (!may_change.empty()) {
      FOREBAY_TRY(const Json then, parse_json(changing));
      for (const std::string& option : may_change) {
        const Json* const value = then.is(Json::Kind::object) ? then.find(option) : nullptr;
        if (value == nullptr) return Error{Code::config, Detail::invalid_argument, fmt::format("no {}", quote(option))};
        own.set(option, *value);
      }
    }
    BranchList first;
    first.repeat.assign(known.repeat.begin(), known.repeat.begin() + static_cast<std::ptrdiff_t>(branches));
    return bind(own, first);
  };
}

/// What the error advises where a branch would skip corrupt records and so shift its rows; empty if it does not.
std::string_view instead_of_skips(const BoundDocument& branch, const BoundBranches& all, bool leaves_rows) {
  Faults none;
  const engine::OnCorrupt on_corrupt = read_on_corrupt(branch.document.on_corrupt.json, none);
  if (branch.made) {
    return skips_records(*branch.made->program)
               ? "put the windows, orders and combinations of the branches behind `zip`, or use \"fail\""
               : "";
  }
  if (!branch.source.format || !engine::skips_early(on_corrupt)) return {};
  if (!branch.columns.early.empty()) return "put what looks into records behind `zip`, or use \"fail\"";
  const auto has_others = [&](const auto& other) {
    const engine::OnCorrupt others = read_on_corrupt(other->document.on_corrupt.json, none);
    return other->source.format && engine::skips_early(others) && others != on_corrupt;
  };
  if (std::ranges::any_of(all.each, has_others)) return "give all branches the same `on_corrupt`";
  const bool left = leaves_rows && on_corrupt.policy == engine::Corrupt::skip_record;
  return left ? "" : "use \"skip_record\" or \"skip_row\", which leave a row out of all branches";
}

/// A batcher that looks at the rows of one branch moves or joins them as those of no other branch.
void check_batches_of_side(const BoundDocument& branch, Faults& faults) {
  for (std::size_t i = 0; branch.made && i < branch.made->stretches.size(); ++i) {
    const BoundDocument& stretch = *branch.made->stretches[i];
    if (!stretch.marked || stretch.columns.batching.marked || stretch.columns.batching.attributes.empty()) continue;
    complain(*stretch.stages.batch_stage->options,
             fmt::format("'{}' puts rows into batches by what is in them, and the branches of a `zip` have different "
                         "rows, so rows that belong together would be separated; put it behind the `zip`",
                         stretch.stages.batch_stage->plugin),
             faults);
  }
}

void check_sides(BoundBranches& branches, const Registry& registry, bool leaves_rows, Faults& faults) {
  std::vector<SideBranch> sides;
  for (const auto& branch : branches.each) {
    check_batches_of_side(*branch, faults);
    sides.push_back({.json = branch->written,
                     .stages = branch->all_stages(),
                     .document = branch->document,
                     .inside = {},
                     .instead_of_skips = instead_of_skips(*branch, branches, leaves_rows)});
    branch->add_stages_inside(sides.back().inside);
  }
  const bool ends_with_first = branches.combining.end.when == PassEnd::When::first;
  branches.equal_files = check_side_by_side(sides, ends_with_first, registry, faults);
}

void merge_branches(BoundDocument& whole, const Registry& registry, const Json& options, Faults& faults) {
  BoundBranches& branches = whole.branches;
  std::vector<BranchColumns> given;
  for (const auto& branch : branches.each) given.push_back({&branch->json, &branch->columns.schema});
  MergedSchema merged =
      branches.combining.make ? merge_columns(given, branches.combining, options, faults) : join_columns(given, faults);
  branches.merged = std::move(merged.columns);
  if (takes_batches(whole.written, registry) && !passes_batches_on(whole.written)) {
    for (const engine::MergedColumn& column : branches.merged) {
      if (is_of_batches(merged.schema[column.id].name)) merged.schema.hide(column.id);
    }
  }
  branches.rows.emplace(RowSource{.schema = std::move(merged.schema), .parts = {}});
  for (const auto& branch : branches.each) {
    const std::vector<std::string>& files = branch->source.files;
    whole.source.files.insert(whole.source.files.end(), files.begin(), files.end());
  }
}

}  // namespace

void bind_branches(BoundDocument& whole, const Planning& planning, bool leaves_rows, Faults& faults) {
  const CombineType& type = *whole.stages.combination;
  const Json& options = *whole.stages.source_stage->options;
  if (const Json* decode = whole.json.find("decode"); decode != nullptr && !decode->is(Json::Kind::null))
    complain(*decode, "every branch has its own 'decode'; move it into the branches", faults);
  whole.files_place = {.plugin = whole.stages.source_stage->plugin, .option = branches_option(type), .branches = {}};
  const Json* const list = options.find(whole.files_place.option);
  if (list == nullptr || !list->is(Json::Kind::array)) {
    type.description.check(options, faults);
    return;
  }
  if (list->items().empty() || list->items().size() > engine::OpenBranches::max_branches)
    complain(*list,
             fmt::format("a combination has 1 to {} branches, found {}", engine::OpenBranches::max_branches,
                         list->items().size()),
             faults);
  BranchList known;
  Faults ignored;
  for (const Json& json : list->items()) known.repeat.push_back(read_branch(json, ignored).repeat);
  const auto tried = keep(type.bind(options, known), ignored);
  const bool marks_batches = takes_batches(whole.written, planning.registry);
  const std::size_t before = faults.size();
  for (std::size_t i = 0; i < list->items().size(); ++i) {
    // Side by side, all branches draw alike, so that orders that they have in common move their rows alike.
    PipelineDocument around = whole.document;
    around.seed = static_cast<std::int64_t>(seed_of_branch(whole.document, !tried || tried->make ? i : 0));
    const std::string batch_end = marks_batches ? batch_end_of(i, tried && !tried->make) : std::string{};
    Faults of_branch;
    whole.branches.each.push_back(bound_branch(list->items()[i], planning, around, batch_end, of_branch));
    keep_new(of_branch, faults);
  }
  auto combining = keep(type.bind(options, known), faults);
  if (!combining || faults.size() != before || list->items().empty()) return;
  whole.branches.combining = *std::move(combining);
  whole.branches.bind_again = binder_of(type, options, known);
  if (!whole.branches.combining.make) check_sides(whole.branches, planning.registry, leaves_rows, faults);
  merge_branches(whole, planning.registry, options, faults);
}

void project_branches(BoundDocument& whole, Faults& faults) {
  BoundBranches& branches = whole.branches;
  if (branches.each.empty()) return;
  std::erase_if(branches.merged, [&](const engine::MergedColumn& column) {
    return std::ranges::find(whole.columns.decoded, column.id) == whole.columns.decoded.end();
  });
  for (std::size_t i = 0; i < branches.each.size(); ++i) {
    BoundDocument& branch = *branches.each[i];
    project_branch(branch.stages, branches.merged, i, branch.columns, faults);
  }
}

std::vector<Program> assemble_branches(const BoundDocument& whole, const Registry& registry) {
  std::vector<Program> out;
  for (const auto& branch : whole.branches.each) {
    out.push_back(common_program({branch->stages, branch->columns, branch->document}, registry));
    out.back().source = branch->source;
    out.back().schema = branch->columns.schema;
    out.back().late = branch->columns.late;
    out.back().repeat = branch->branch->repeat;
    out.back().seed = static_cast<std::uint64_t>(branch->document.seed);
    if (branch->made) engine::set_made(branch->made->source.files.front(), branch->made->program, out.back());
    if (!whole.branches.combining.make)
      out.back().on_corrupt.looks = false;  // the rows after it would stand beside others
  }
  return out;
}

std::vector<const Stages*> BoundDocument::all_stages() const {
  std::vector<const Stages*> out;
  for (std::size_t i = 0; made && i < made->stretches.size(); ++i) out.push_back(&made->stretches[i]->stages);
  out.push_back(&stages);
  return out;
}

void BoundDocument::add_stages_inside(std::vector<const Stages*>& out) const {
  for (const auto& inner : branches.each) {
    std::ranges::copy(inner->all_stages(), std::back_inserter(out));
    inner->add_stages_inside(out);
  }
  for (std::size_t i = 0; made && i < made->stretches.size(); ++i) made->stretches[i]->add_stages_inside(out);
}

}  // namespace forebay::plan
