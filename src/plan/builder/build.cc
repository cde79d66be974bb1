// SPDX-License-Identifier: Apache-2.0
#include "plan/builder/build.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/draw.h"
#include "engine/index/made_index.h"
#include "engine/order/shards/batch_counts.h"
#include "engine/run/made_rows.h"
#include "plan/bind/attributes.h"
#include "plan/bind/branch_program.h"
#include "plan/bind/checks.h"
#include "plan/bind/functions.h"
#include "plan/bind/lookups.h"
#include "plan/bind/outputs.h"
#include "plan/bind/taking.h"
#include "plan/builder/branch_batches.h"
#include "plan/builder/branches.h"
#include "plan/builder/plan_builder.h"
#include "plan/builder/plan_hash.h"
#include "plan/builder/stretches.h"
#include "plan/data_files.h"
#include "plan/document/names.h"
#include "plan/document/shard.h"
#include "plan/text.h"

#include <forebay/batchers/batch_ends.h>
#include <forebay/messages.h>

namespace forebay::plan {

using engine::Program;

namespace {

constexpr std::uint64_t stretch_seed = 0x57e7c4;  // the purpose of the draw that is the seed of a later stretch

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

}  // namespace

/// Reads the stages of the document, and binds the source.
void PlanBuilder::bind_stages(DocumentKind kind) {
  bound_.stages = read_stages(bound_.json, planning_.registry, faults_, kind);
  if (bound_.made) bound_.stages.source_stage = bound_.root().stages.source_stage;
  bind_functions(bound_.stages, planning_.context, faults_);
  read_lookups(bound_.stages, planning_.context, faults_);
  if (bound_.stages.combination != nullptr) bind_branches(bound_, planning_, leaves_rows_, faults_);
  bind_source();
  check_source(bound_, faults_);
}

/// Binds what comes after the source.
void PlanBuilder::bind_rows() {
  bound_.columns = bind_columns(bound_.stages, bound_.branches.rows ? &*bound_.branches.rows : nullptr, bound_.source,
                                planning_.context.folder, faults_);
  if (bound_.columns.windows)
    bind_function(bound_.columns.windows->windowing.asks, bound_.stages.windows.front().stage, planning_.context,
                  faults_);
  if (bound_.stages.batch_stage)
    bind_function(bound_.columns.batching.asks, *bound_.stages.batch_stage, planning_.context, faults_);
  if (faults_.empty() || !passes_batches_on(bound_.written))
    check_combined_batches(bound_.stages, bound_.columns.batching, faults_);
  if (faults_.empty() && bound_.columns.outputs.empty())
    complain(bound_.json, "no tensor is left for the batch", faults_);
  check_rows(bound_, faults_);
  check_lanes(bound_, faults_);
}

void PlanBuilder::group_outputs() {
  if (!bound_.columns.columns_known) return;
  std::vector<std::string> names;
  for (const ColumnId id : bound_.columns.schema.visible()) names.push_back(bound_.columns.schema[id].name);
  check_group("inputs", names);
  check_group("targets", names);
  parts_.targets = bound_.document.targets.value_or(std::vector<std::string>{});
  if (bound_.document.inputs) {
    parts_.inputs = *bound_.document.inputs;
    return;
  }
  std::copy_if(names.begin(), names.end(), std::back_inserter(parts_.inputs),
               [&](const std::string& name) { return !contains(parts_.targets, name); });
}

void PlanBuilder::check_group(const char* key, const std::vector<std::string>& names) {
  const Json* list = bound_.json.find(key);
  if (list == nullptr) return;
  std::vector<std::string> seen;
  for (const Json& item : list->items()) {
    if (!item.is(Json::Kind::string)) continue;  // the top level reports this
    if (!contains(names, item.string()) && !bound_.columns.unknown.contains(item.string())) {
      complain(item,
               fmt::format("the batch has no tensor {}{}", quote(item.string()), among(item.string(), names, "it has")),
               faults_);
    } else if (contains(seen, item.string())) {
      complain(item, fmt::format("{} is named twice in '{}'", quote(item.string()), key), faults_);
    }
    seen.push_back(item.string());
  }
}

PlanAccess::Parts PlanBuilder::describe_parts(const Program& program) {
  for (const engine::Output& output : program.outputs) {
    ColumnSpec shown = output.spec;
    shown.shape = shown_shape(output);
    parts_.outputs.push_back(std::move(shown));
  }
  if (program.source.rows && program.epochs && !program.windows) parts_.batches = engine::batches_by_index(program, {});
  if (program.epochs == 0 || program.source.files.empty()) parts_.batches = 0;
  parts_.stages = stages_of(text_of(bound_, program), parts_.inputs, parts_.targets);
  return std::move(parts_);
}

void PlanBuilder::bind_branch(const PipelineDocument& whole) {
  bound_.branch = read_branch(bound_.written, faults_);
  bound_.document = around_branch(whole, *bound_.branch);
  bind_stages(DocumentKind::branch);
  bound_.columns = bind_columns(bound_.stages, nullptr, bound_.source, planning_.context.folder, faults_);
  check_rows(bound_, faults_);
}

std::optional<Plan> PlanBuilder::run() {
  bound_.document = read_pipeline(bound_.written, faults_).document;
  bind_stages(DocumentKind::whole);
  bind_rows();
  group_outputs();
  check_shard(bound_, faults_);
  if (!faults_.empty()) return std::nullopt;
  project(bound_.stages, bound_.columns, faults_);
  project_branches(bound_, faults_);
  if (!faults_.empty()) return std::nullopt;
  Program program = assemble();
  if (program.batching.epoch_end && reads_once(program)) {
    complain(
        *bound_.stages.batch_stage->options->find("epoch_end"),
        "`epoch_end` marks the last batch of an epoch, and of rows that the program gives while the run goes on it "
        "is not known which one that is; leave it out, or collect the rows in arrays",
        faults_);
    return std::nullopt;
  }
  take_late_steps(program);
  set_identity(program);
  program.stream = hash_plan(bound_, program, planning_.registry, parts_);
  sign_attributes(bound_.stages, parts_.sections, planning_.registry, program);
  sign_branches(bound_, planning_.registry, program);
  parts_.program = std::make_shared<const Program>(std::move(program));
  return PlanAccess::make(std::make_shared<const PlanAccess::Parts>(describe_parts(*parts_.program)));
}

void PlanBuilder::bind_source() {
  if (bound_.made) bound_.source = bound_.made->source;
  if (bound_.made || bound_.stages.source == nullptr) return;
  const Json& options = *bound_.stages.source_stage->options;
  if (auto source = keep(bound_.stages.source->bind(options, planning_.context), faults_))
    bound_.source = *std::move(source);
  decide_options(bound_.source, bound_.stages, faults_);
  const FieldInfo* const field = paths_field(bound_.stages.source->description);
  const Json* const paths = field != nullptr ? options.find(field->name) : nullptr;
  if (paths == nullptr) return;
  bound_.files_place = {.plugin = bound_.stages.source_stage->plugin, .option = field->name, .branches = {}};
  Faults unclear;
  const Json* policy = bound_.branch ? &bound_.document.on_corrupt.json : bound_.json.find("on_corrupt");
  const auto on_corrupt = policy != nullptr ? read_on_corrupt(*policy, unclear) : engine::OnCorrupt{};
  if (unclear.empty() && planning_.checks)
    check_files(*paths, planning_.context, on_corrupt, *planning_.checks, planning_.known, faults_);
}

Schema PlanBuilder::every_column() const {
  Schema out;
  for (std::size_t i = 0; i < bound_.columns.schema.size(); ++i) {
    const auto id = static_cast<ColumnId>(i);
    out.put(i < bound_.columns.at_batch.size() ? bound_.columns.at_batch[id] : bound_.columns.schema[id]);
  }
  out.keep({bound_.columns.schema.visible().begin(), bound_.columns.schema.visible().end()});
  return out;
}

std::optional<engine::Taking> PlanBuilder::taking() const {
  std::optional<engine::Taking> out = bound_.columns.taking;
  const auto elements = static_cast<std::ptrdiff_t>(bound_.columns.element_steps);
  if (out) out->element_steps.assign(bound_.columns.late.begin(), bound_.columns.late.begin() + elements);
  return out;
}

Program PlanBuilder::assemble() {
  Faults none;  // has been read without faults
  Program out = common_program({bound_.stages, bound_.columns, bound_.document}, planning_.registry);
  out.source = std::move(bound_.source);
  out.windows = bound_.columns.windows;
  out.windows_in_parts = out.windows && out.windows->windowing.grain == WindowGrain::sequences &&
                         bound_.stages.windows.front().before_interleave;
  out.batching = bound_.columns.batching;
  out.batcher_attribute = bound_.columns.batcher_attribute;
  out.schema = every_column();
  out.taking = taking();
  out.late = {bound_.columns.late.begin() + static_cast<std::ptrdiff_t>(bound_.columns.element_steps),
              bound_.columns.late.end()};
  out.batched = bound_.columns.batched;
  out.batch_orders = orderings(bound_.stages.batch_orders);
  out.after = bound_.columns.after;
  out.outputs = bound_.columns.outputs;
  out.seed = static_cast<std::uint64_t>(bound_.document.seed);
  if (bound_.made) {
    engine::set_made(bound_.made->source.files.front(), bound_.made->program, out);
    out.seed = draw({.seed = out.seed, .index = bound_.made->stretches.size(), .purpose = stretch_seed});
    if (out.taking && out.on_corrupt.policy == engine::Corrupt::skip_row) out.on_corrupt.policy = engine::Corrupt::fail;
  }
  out.hard_epochs =
      bound_.document.epoch_boundary == EpochBoundary::hard || (out.batching.epoch_end && out.epochs == 1);
  out.threads = bound_.document.threads;
  out.memory = read_memory(bound_.json.find("memory"), none);
  out.prefetch = bound_.document.prefetch;
  out.shard = read_shard(bound_.document.shard.json, none);
  out.known = planning_.known;
  out.branches = assemble_branches(bound_, planning_.registry);
  out.takes_batches = takes_batches(bound_.written, planning_.registry) && bound_.branches.combining.make;
  out.equal_files = bound_.branches.equal_files;
  out.combining = bound_.branches.combining;
  out.bind_again = bound_.branches.bind_again;
  if (bound_.stages.combination != nullptr)
    out.changing = changing_of(*bound_.stages.combination, *bound_.stages.source_stage->options);
  out.merged = bound_.branches.merged;
  if (out.taking) out.taking->early = decodes_early(out);
  return out;
}

}  // namespace forebay::plan
