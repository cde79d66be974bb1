// SPDX-License-Identifier: Apache-2.0
// The functions of PlanBuilder that plan a stretch, whose rows are made.
#include <algorithm>

#include <fmt/core.h>

#include "columns/scalar.h"
#include "engine/index/made_index.h"
#include "plan/bind/attributes.h"
#include "plan/bind/branch_program.h"
#include "plan/bind/taking.h"
#include "plan/builder/branches.h"
#include "plan/builder/made_source.h"
#include "plan/builder/plan_builder.h"
#include "plan/builder/plan_hash.h"

#include <forebay/batchers/batch_ends.h>
#include <forebay/messages.h>

namespace forebay::plan {

using engine::Program;

namespace {

/// Keeps the padding value of a tensor with the column of its rows, for the batches that are made of them.
void set_padding(const Padding& padding, ColumnSpec& spec) {
  if (std::holds_alternative<std::monostate>(padding.value)) return;
  const auto element = columns::element_from(JsonCodec<Scalar>::write(padding.value), spec.dtype);
  if (!element.ok()) return;  // batch_outputs has checked it
  spec.pad.assign(reinterpret_cast<const char*>(element->data()), element->size());
}

}  // namespace

/// The rows of a batch are delivered as they are: dense, or one after the other.
void PlanBuilder::deliver_rows() {
  for (const engine::Output& output : bound_.columns.outputs) {
    if (!output.spec.parts.empty()) {
      complain(*bound_.stages.source_stage->options,
               fmt::format("the rows of tensor {} have parts of their own, and stages that need the rows first can do "
                           "nothing with those; deliver it padded or as plain lists",
                           quote(output.spec.name)),
               faults_);
    }
  }
  for (std::vector<engine::Output>* const list : {&bound_.columns.batched, &bound_.columns.outputs}) {
    for (engine::Output& output : *list) {
      if (output.padding) set_padding(*output.padding, output.spec);
      output.padding.reset();
      output.spec.delivery = output.spec.shape.known() ? Delivery::equal : Delivery::ragged;
      output.spec.row_splits_int32 = false;
    }
  }
}

/// The batches of a branch come through the combination as they are.
void PlanBuilder::mark_batches(const std::string& batch_end) {
  const Json& options = *bound_.stages.batch_stage->options;
  const Batching& batching = bound_.columns.batching;
  const auto refuse = [&](std::string_view what, std::string_view instead) {
    complain(options,
             fmt::format("'{}' {}, which does not come through a combination; {}", bound_.stages.batch_stage->plugin,
                         what, instead),
             faults_);
  };
  if (batching.lanes > 0) refuse("keeps states of sequences from batch to batch", "put it behind the combination");
  if (batching.numbers) refuse("numbers the sequences of a pass", "leave `seq_idx` and `epoch_end` out");
  if (batching.pads_to > 0 || batching.remainder == Remainder::pad)
    refuse("fills its last batch up with empty rows", "set `remainder` to \"keep\" or \"drop\"");
  const auto pads = [this](ColumnId id) {
    const auto batched = std::ranges::find(bound_.columns.batched, id, &engine::Output::id);
    return batched != bound_.columns.batched.end() && batched->padding.has_value();
  };
  for (const engine::PlacedStep& step : bound_.columns.after) {
    if (std::ranges::none_of(step.reads, pads)) continue;
    faults_.emplace_back(
        Code::config, Detail::invalid_argument,
        fmt::format("'{}' stands behind the batches of a branch and reads their padding, which they get "
                    "behind the combination; put it before them, or behind the combination",
                    step.name),
        Place{.pointer = step.pointer});
    break;
  }
  batch_end_ = batch_end;
  bound_.marked.emplace();
  for (std::size_t i = 0; i < bound_.columns.outputs.size(); ++i) {
    const engine::Output& output = bound_.columns.outputs[i];
    if (!output.padding || output.spec.shape.rank() == 0 || output.spec.shape[0] != unknown_dim) continue;
    bound_.marked->push_back({.output = i, .at_least = std::max<std::int64_t>(0, output.padding->shape[0])});
  }
}

std::shared_ptr<const Program> PlanBuilder::run_rows(const PipelineDocument& document, const std::string& batch_end) {
  bound_.document = document;
  leaves_rows_ = true;
  bind_stages(DocumentKind::whole);
  bind_rows();
  if (faults_.empty() && !batch_end.empty()) mark_batches(batch_end);
  if (faults_.empty()) deliver_rows();
  if (!faults_.empty()) return nullptr;
  project(bound_.stages, bound_.columns, faults_);
  project_branches(bound_, faults_);
  if (!faults_.empty()) return nullptr;
  return std::make_shared<const Program>(program_of_rows());
}

Program PlanBuilder::program_of_rows() {
  Program out = assemble();
  out.hard_epochs = out.makes_rows = true;
  out.marks_batches = bound_.marked;
  out.shard = {};
  const bool side_by_side = !out.branches.empty() && !out.combining.make;
  if (side_by_side) {
    leave_bad_rows(out.branches, out.on_corrupt);
  } else if (out.on_corrupt.policy == engine::Corrupt::skip_row) {
    out.on_corrupt.policy = engine::Corrupt::skip_record;
    for (Program& each : out.branches) each.on_corrupt.policy = engine::Corrupt::skip_record;
  }
  take_late_steps(out);
  set_identity(out);
  out.stream = hash_plan(bound_, out, planning_.registry, parts_);
  sign_attributes(bound_.stages, parts_.sections, planning_.registry, out);
  sign_branches(bound_, planning_.registry, out);
  return out;
}

Source PlanBuilder::source_of_rows(const std::shared_ptr<const Program>& program) const {
  Schema rows;
  for (const engine::Output& output : bound_.columns.outputs) {
    ColumnSpec spec = output.after_batch ? bound_.columns.schema[output.id] : bound_.columns.at_batch[output.id];
    spec.name = output.spec.name;
    spec.pad = output.spec.pad;
    rows.put(std::move(spec));
  }
  if (bound_.marked) {
    rows.put({.name = batch_end_, .dtype = DType::boolean, .shape = {}});
    for (const engine::MarkedFrames& marked : *bound_.marked)
      rows.put({.name = frames_in_batch(bound_.columns.outputs[marked.output].spec.name),
                .dtype = DType::int64,
                .shape = {}});
  }
  return made_source(fmt::format("rows of {}", quote(bound_.root().stages.source_stage->plugin)), std::move(rows),
                     program);
}

}  // namespace forebay::plan
