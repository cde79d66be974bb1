// SPDX-License-Identifier: Apache-2.0
#include "plan/build.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/draw.h"
#include "engine/index/made_index.h"
#include "engine/order/branches/open_branches.h"
#include "engine/run/made_rows.h"
#include "plan/bind/attributes.h"
#include "plan/bind/branch_program.h"
#include "plan/bind/functions.h"
#include "plan/bind/lookups.h"
#include "plan/bind/outputs.h"
#include "plan/bind/side_by_side.h"
#include "plan/bind/taking.h"
#include "plan/branch_batches.h"
#include "plan/data_files.h"
#include "plan/document/names.h"
#include "plan/document/shard.h"
#include "plan/plan_builder.h"
#include "plan/stretches.h"

#include <forebay/batchers/batch_ends.h>
#include <forebay/messages.h>

namespace forebay::plan {

using engine::Program;

namespace {

constexpr std::uint64_t stretch_seed = 0x57e7c4;  // the purpose of the draw that is the seed of a later stretch

}  // namespace

BoundDocument PlanBuilder::bound() const {
  const Combines combines = branch_ ? Combines::is_branch : branches_.empty() ? Combines::nothing : Combines::branches;
  return {.json = json_,
          .document = document_,
          .stages = stages_,
          .source = source_,
          .columns = columns_,
          .combines = combines,
          .made = made_ != nullptr};
}

/// Reads the stages of the document, and binds the source.
void PlanBuilder::bind_stages(DocumentKind kind) {
  stages_ = read_stages(json_, planning_.registry, faults_, kind);
  if (made_) stages_.source_stage = root().stages_.source_stage;
  bind_functions(stages_, planning_.context, faults_);
  read_lookups(stages_, planning_.context, faults_);
  if (stages_.combination != nullptr) bind_branches();
  bind_source();
  check_source(bound(), faults_);
}

/// Binds what comes after the source.
void PlanBuilder::bind_rows() {
  columns_ = bind_columns(stages_, merged_rows_ ? &*merged_rows_ : nullptr, source_, planning_.context.folder, faults_);
  if (columns_.windows)
    bind_function(columns_.windows->windowing.asks, stages_.windows.front().stage, planning_.context, faults_);
  if (stages_.batch_stage) bind_function(columns_.batching.asks, *stages_.batch_stage, planning_.context, faults_);
  if (faults_.empty() || !passes_batches_on(written_)) check_combined_batches(stages_, columns_.batching, faults_);
  if (faults_.empty() && columns_.outputs.empty()) complain(json_, "no tensor is left for the batch", faults_);
  check_rows(bound(), faults_);
  check_lanes(bound(), faults_);
}

void PlanBuilder::bind_branch(const PipelineDocument& whole) {
  branch_ = read_branch(written_, faults_);
  document_ = around_branch(whole, *branch_);
  bind_stages(DocumentKind::branch);
  columns_ = bind_columns(stages_, nullptr, source_, planning_.context.folder, faults_);
  check_rows(bound(), faults_);
}

std::optional<Plan> PlanBuilder::run() {
  document_ = read_pipeline(written_, faults_).document;
  bind_stages(DocumentKind::whole);
  bind_rows();
  group_outputs();
  check_shard(bound(), faults_);
  if (!faults_.empty()) return std::nullopt;
  project(stages_, columns_, faults_);
  project_branches();
  if (!faults_.empty()) return std::nullopt;
  Program program = assemble();
  if (program.batching.epoch_end && reads_once(program)) {
    complain(
        *stages_.batch_stage->options->find("epoch_end"),
        "`epoch_end` marks the last batch of an epoch, and of rows that the program gives while the run goes on it "
        "is not known which one that is; leave it out, or collect the rows in arrays",
        faults_);
    return std::nullopt;
  }
  take_late_steps(program);
  set_identity(program);
  program.stream = hash(program);
  sign_attributes(stages_, parts_.sections, planning_.registry, program);
  sign_branches(program);
  parts_.program = std::make_shared<const Program>(std::move(program));
  return PlanAccess::make(std::make_shared<const PlanAccess::Parts>(describe_parts(*parts_.program)));
}

namespace {

/// Program::changing
std::string changing_of(const CombineType& type, const Json& options) {
  if (type.may_change.empty()) return {};
  Json out = Json::object();
  for (const FieldInfo& field : type.description.fields) {
    if (!contains(type.may_change, field.name)) continue;
    const Json* const given = options.find(field.name);
    out.set(field.name, given != nullptr ? *given : field.default_value);
  }
  return out.text();
}

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

}  // namespace

/// Binds the branches of a combination, and the combination to them.
void PlanBuilder::bind_branches() {
  const Json& options = *stages_.source_stage->options;
  if (const Json* decode = json_.find("decode"); decode != nullptr && !decode->is(Json::Kind::null))
    complain(*decode, "every branch has its own 'decode'; move it into the branches", faults_);
  files_place_ = {
      .plugin = stages_.source_stage->plugin, .option = branches_option(*stages_.combination), .branches = {}};
  const Json* const list = options.find(files_place_.option);
  if (list == nullptr || !list->is(Json::Kind::array)) {
    stages_.combination->description.check(options, faults_);
    return;
  }
  if (list->items().empty() || list->items().size() > engine::OpenBranches::max_branches)
    complain(*list,
             fmt::format("a combination has 1 to {} branches, found {}", engine::OpenBranches::max_branches,
                         list->items().size()),
             faults_);
  BranchList known;
  Faults ignored;
  for (const Json& json : list->items()) known.repeat.push_back(read_branch(json, ignored).repeat);
  const auto tried = keep(stages_.combination->bind(options, known), ignored);
  const std::size_t before = faults_.size();
  for (std::size_t i = 0; i < list->items().size(); ++i) {
    // Side by side, all branches draw alike, so that orders that they have in common move their rows alike.
    PipelineDocument whole = document_;
    whole.seed = static_cast<std::int64_t>(seed_of_branch(document_, !tried || tried->make ? i : 0));
    const std::string batch_end = takes_batches_ ? batch_end_of(i, tried && !tried->make) : std::string{};
    branches_.push_back(bound_branch(list->items()[i], planning_, whole, batch_end));
    keep_new(branches_.back()->faults_, faults_);
  }
  auto combining = keep(stages_.combination->bind(options, known), faults_);
  if (!combining || faults_.size() != before || list->items().empty()) return;
  combining_ = *std::move(combining);
  bind_again_ = binder_of(*stages_.combination, options, known);
  if (!combining_.make) check_sides();
  merge_branches(options);
}

/// The stages of the document, those of the stretches before it first.
std::vector<const Stages*> PlanBuilder::all_stages() const {
  std::vector<const Stages*> out;
  if (made_) {
    for (const auto& stretch : made_->stretches) out.push_back(&stretch->stages_);
  }
  out.push_back(&stages_);
  return out;
}

/// Those of the branches of a combination, and of their branches.
void PlanBuilder::add_stages_inside(std::vector<const Stages*>& out) const {
  for (const auto& branch : branches_) {
    std::ranges::copy(branch->all_stages(), std::back_inserter(out));
    branch->add_stages_inside(out);
  }
  for (std::size_t i = 0; made_ && i < made_->stretches.size(); ++i) made_->stretches[i]->add_stages_inside(out);
}

/// What the error advises where a branch would skip corrupt records and so shift its rows; empty if it does not.
std::string_view PlanBuilder::instead_of_skips(const PlanBuilder& branch) const {
  Faults none;
  const engine::OnCorrupt on_corrupt = read_on_corrupt(branch.document_.on_corrupt.json, none);
  if (branch.made_) {
    return skips_records(*branch.made_->program)
               ? "put the windows, orders and combinations of the branches behind `zip`, or use \"fail\""
               : "";
  }
  if (!branch.source_.format || !engine::skips_early(on_corrupt)) return {};
  if (!branch.columns_.early.empty()) return "put what looks into records behind `zip`, or use \"fail\"";
  const auto has_others = [&](const auto& other) {
    const engine::OnCorrupt others = read_on_corrupt(other->document_.on_corrupt.json, none);
    return other->source_.format && engine::skips_early(others) && others != on_corrupt;
  };
  if (std::ranges::any_of(branches_, has_others)) return "give all branches the same `on_corrupt`";
  const bool left = leaves_rows_ && on_corrupt.policy == engine::Corrupt::skip_record;
  return left ? "" : "use \"skip_record\" or \"skip_row\", which leave a row out of all branches";
}

/// A batcher that looks at the rows of one branch moves or joins them as those of no other branch.
void PlanBuilder::check_batches_of_side(const PlanBuilder& branch) {
  for (std::size_t i = 0; branch.made_ && i < branch.made_->stretches.size(); ++i) {
    const PlanBuilder& stretch = *branch.made_->stretches[i];
    if (!stretch.marked_ || stretch.columns_.batching.marked || stretch.columns_.batching.attributes.empty()) continue;
    complain(*stretch.stages_.batch_stage->options,
             fmt::format("'{}' puts rows into batches by what is in them, and the branches of a `zip` have different "
                         "rows, so rows that belong together would be separated; put it behind the `zip`",
                         stretch.stages_.batch_stage->plugin),
             faults_);
  }
}

void PlanBuilder::check_sides() {
  std::vector<SideBranch> sides;
  for (const auto& branch : branches_) {
    check_batches_of_side(*branch);
    sides.push_back({.json = branch->written_,
                     .stages = branch->all_stages(),
                     .document = branch->document_,
                     .inside = {},
                     .instead_of_skips = instead_of_skips(*branch)});
    branch->add_stages_inside(sides.back().inside);
  }
  equal_files_ = check_side_by_side(sides, combining_.end.when == PassEnd::When::first, planning_.registry, faults_);
}

void PlanBuilder::merge_branches(const Json& options) {
  std::vector<BranchColumns> given;
  for (const auto& branch : branches_) given.push_back({&branch->json_, &branch->columns_.schema});
  MergedSchema merged =
      combining_.make ? merge_columns(given, combining_, options, faults_) : join_columns(given, faults_);
  merged_ = std::move(merged.columns);
  if (takes_batches_ && !passes_batches_on(written_)) {
    for (const engine::MergedColumn& column : merged_) {
      if (is_of_batches(merged.schema[column.id].name)) merged.schema.hide(column.id);
    }
  }
  merged_rows_.emplace(RowSource{.schema = std::move(merged.schema), .parts = {}});
  for (const auto& branch : branches_) {
    const std::vector<std::string>& files = branch->source_.files;
    source_.files.insert(source_.files.end(), files.begin(), files.end());
  }
}

/// Leaves out the columns of the branches that no stage after the combination needs.
void PlanBuilder::project_branches() {
  if (branches_.empty()) return;
  std::erase_if(merged_, [&](const engine::MergedColumn& column) {
    return std::ranges::find(columns_.decoded, column.id) == columns_.decoded.end();
  });
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    PlanBuilder& branch = *branches_[i];
    project_branch(branch.stages_, merged_, i, branch.columns_, faults_);
  }
}

std::vector<Program> PlanBuilder::assemble_branches() {
  std::vector<Program> out;
  for (const auto& branch : branches_) {
    out.push_back(common_program({branch->stages_, branch->columns_, branch->document_}, planning_.registry));
    out.back().source = branch->source_;
    out.back().schema = branch->columns_.schema;
    out.back().late = branch->columns_.late;
    out.back().repeat = branch->branch_->repeat;
    out.back().seed = static_cast<std::uint64_t>(branch->document_.seed);
    if (branch->made_) engine::set_made(branch->made_->source.files.front(), branch->made_->program, out.back());
    if (!combining_.make) out.back().on_corrupt.looks = false;  // the rows after it would stand beside others
  }
  return out;
}

void PlanBuilder::bind_source() {
  if (made_) source_ = made_->source;
  if (made_ || stages_.source == nullptr) return;
  const Json& options = *stages_.source_stage->options;
  if (auto source = keep(stages_.source->bind(options, with_files(planning_.context)), faults_))
    source_ = *std::move(source);
  decide_options(source_, stages_, faults_);
  const FieldInfo* const field = paths_field(stages_.source->description);
  const Json* const paths = field != nullptr ? options.find(field->name) : nullptr;
  if (paths == nullptr) return;
  files_place_ = {.plugin = stages_.source_stage->plugin, .option = field->name, .branches = {}};
  Faults unclear;
  const Json* policy = branch_ ? &document_.on_corrupt.json : json_.find("on_corrupt");
  const auto on_corrupt = policy != nullptr ? read_on_corrupt(*policy, unclear) : engine::OnCorrupt{};
  if (unclear.empty() && planning_.checks)
    check_files(*paths, planning_.context.folder, on_corrupt, *planning_.checks, faults_);
}

Schema PlanBuilder::every_column() const {
  Schema out;
  for (std::size_t i = 0; i < columns_.schema.size(); ++i) {
    const auto id = static_cast<ColumnId>(i);
    out.put(i < columns_.at_batch.size() ? columns_.at_batch[id] : columns_.schema[id]);
  }
  out.keep({columns_.schema.visible().begin(), columns_.schema.visible().end()});
  return out;
}

std::optional<engine::Taking> PlanBuilder::taking() const {
  std::optional<engine::Taking> out = columns_.taking;
  const auto elements = static_cast<std::ptrdiff_t>(columns_.element_steps);
  if (out) out->element_steps.assign(columns_.late.begin(), columns_.late.begin() + elements);
  return out;
}

Program PlanBuilder::assemble() {
  Faults none;  // has been read without faults
  Program out = common_program({stages_, columns_, document_}, planning_.registry);
  out.source = std::move(source_);
  out.windows = columns_.windows;
  out.windows_in_parts = out.windows && out.windows->windowing.grain == WindowGrain::sequences &&
                         stages_.windows.front().before_interleave;
  out.batching = columns_.batching;
  out.batcher_attribute = columns_.batcher_attribute;
  out.schema = every_column();
  out.taking = taking();
  out.late = {columns_.late.begin() + static_cast<std::ptrdiff_t>(columns_.element_steps), columns_.late.end()};
  out.batched = columns_.batched;
  out.batch_orders = orderings(stages_.batch_orders);
  out.after = columns_.after;
  out.outputs = columns_.outputs;
  out.seed = static_cast<std::uint64_t>(document_.seed);
  if (made_) {
    engine::set_made(made_->source.files.front(), made_->program, out);
    out.seed = draw({.seed = out.seed, .index = made_->stretches.size(), .purpose = stretch_seed});
    if (out.taking && out.on_corrupt.policy == engine::Corrupt::skip_row) out.on_corrupt.policy = engine::Corrupt::fail;
  }
  out.hard_epochs = document_.epoch_boundary == EpochBoundary::hard || (out.batching.epoch_end && out.epochs == 1);
  out.threads = document_.threads;
  out.memory = read_memory(json_.find("memory"), none);
  out.prefetch = document_.prefetch;
  out.shard = read_shard(document_.shard.json, none);
  out.branches = assemble_branches();
  out.takes_batches = takes_batches_ && combining_.make;
  out.equal_files = equal_files_;
  out.combining = combining_;
  out.bind_again = bind_again_;
  if (stages_.combination != nullptr) out.changing = changing_of(*stages_.combination, *stages_.source_stage->options);
  out.merged = merged_;
  if (out.taking) out.taking->early = decodes_early(out);
  return out;
}

}  // namespace forebay::plan
