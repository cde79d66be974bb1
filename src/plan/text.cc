// SPDX-License-Identifier: Apache-2.0
#include "plan/text.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/bind/outputs.h"
#include "plan/bind/record_columns.h"
#include "plan/builder/bound_document.h"
#include "plan/document/names.h"
#include "plan/document/shard.h"

namespace forebay::plan {
namespace {

std::string column_text(const ColumnSpec& spec) {
  return fmt::format("{} {} {}", spec.name, to_string(spec.dtype), spec.shape.text());
}

std::string columns_text(const Schema& schema, const std::vector<ColumnId>& ids) {
  std::vector<std::string> columns;
  for (const ColumnId id : ids) columns.push_back(column_text(schema[id]));
  return fmt::format("{}", fmt::join(columns, ", "));
}

std::string source_text(const Source& source) {
  if (source.rows && source.rows->charged) return "rows that the stages above make";
  if (source.rows && !source.rows->resident()) return "rows that the program gives";
  if (source.rows) {
    std::int64_t rows = 0;
    for (const RowPart& part : source.rows->parts) rows += part.in_memory();
    const bool files = std::ranges::any_of(source.rows->parts, [](const RowPart& part) { return part.map != nullptr; });
    return fmt::format("{} {} in {}", rows, rows == 1 ? "row" : "rows", files ? "files" : "memory");
  }
  const std::size_t files = source.files.size();
  return fmt::format("{} {}, compression {}", files, files == 1 ? "file" : "files",
                     EnumNames<Compression>::names[static_cast<std::size_t>(source.compression)]);
}

std::string step_text(const engine::PlacedStep& step, const StepStage& stage, const Schema& schema) {
  const std::string made = columns_text(schema, step.makes);
  return fmt::format("{} {}{}{}", step.name, stage.stage.options->text(), made.empty() ? "" : " -> ", made);
}

std::string_view delivery_text(const engine::Output& output) {
  if (output.spec.shape.known() && !output.padding) return "";
  switch (output.spec.delivery) {
    case Delivery::equal:
      return ", rows of equal shape";
    case Delivery::padded:
      return ", padded";
    case Delivery::ragged:
      return ", ragged";
    case Delivery::sparse:
      return ", sparse";
  }
  return "";
}

std::string epochs_text(const engine::Program& program) {
  if (!program.epochs) return "endless";
  return fmt::format("{} {}", *program.epochs, *program.epochs == 1 ? "epoch" : "epochs");
}

std::string_view corruption_text(const engine::OnCorrupt& on_corrupt) {
  switch (on_corrupt.policy) {
    case engine::Corrupt::fail:
      return "";
    case engine::Corrupt::skip_record:
      return ", corrupt records are skipped";
    case engine::Corrupt::skip_row:
      if (on_corrupt.looks) return ", corrupt records that stages look into are skipped, other rows become padding";
      return ", rows of corrupt records become padding";
    case engine::Corrupt::skip_file:
      return ", corrupt files are left";
  }
  return "";
}

std::string shard_text(const engine::Shard& shard) {
  if (shard.count == 1 && shard.batch_count == 1) return "";
  return ", " + words_of(shard);
}

/// Collects the stages of a plan's description.
class Lines {
 public:
  PlanStage& add(std::string_view where, const std::string& what) {
    return stages_.emplace_back(PlanStage{.where = std::string{where}, .text = what, .branch = branch_});
  }
  /// A step that Stats::steps counts, where the run itself makes the rows.
  void add_timed(std::string_view where, const std::string& plugin, const std::string& what) {
    PlanStage& stage = add(where, what);
    stage.plugin = plugin;
    if (!of_other_run_) stage.step = steps_++;
  }
  /// Whether the stages that follow are those of a run whose rows are the source of this one; returns what was said
  /// before.
  bool leave_to_other_run(bool of_other_run) { return std::exchange(of_other_run_, of_other_run); }
  /// The branch of the stages that follow; returns that of those before.
  std::optional<std::int64_t> enter(std::optional<std::int64_t> branch) { return std::exchange(branch_, branch); }
  [[nodiscard]] std::vector<PlanStage> take() { return std::move(stages_); }

 private:
  std::vector<PlanStage> stages_;
  std::optional<std::int64_t> branch_;
  std::int64_t steps_ = 0;
  bool of_other_run_ = false;
};

void add_stage(std::string_view where, const Stage& stage, Lines& lines) {
  lines.add(where, fmt::format("{} {}", stage.plugin, stage.options->text())).plugin = stage.plugin;
}

void add_orders(std::string_view where, std::span<const OrderStage> orders, Lines& lines) {
  for (const OrderStage& order : orders) add_stage(where, order.stage, lines);
}

/// The orders of records up to number `end`.
void add_record_orders(const Stages& stages, std::size_t end, Lines& lines) {
  const std::span<const OrderStage> orders{stages.record_orders};
  add_orders("in part", orders.first(stages.orders_in_parts), lines);
  add_orders("records", orders.subspan(stages.orders_in_parts, end - stages.orders_in_parts), lines);
}

/// Adds the steps of these stages, and before them those that the source adds. Returns the stages that are left.
/// `timed`: Stats::steps counts them; steps of whole elements, which windows are cut from, are not timed one by one.
std::span<const StepStage> add_steps(std::string_view where, const std::vector<engine::PlacedStep>& placed,
                                     std::span<const StepStage> stages, const Schema& schema, Lines& lines,
                                     bool timed = true) {
  for (const engine::PlacedStep& step : placed) {
    const std::string text = step.asks_record ? fmt::format("{} -> {}", step.name, columns_text(schema, step.makes))
                                              : step_text(step, stages.front(), schema);
    if (!step.asks_record) stages = stages.subspan(1);
    if (timed) {
      lines.add_timed(where, step.name, text);
    } else {
      lines.add(where, text).plugin = step.name;
    }
  }
  return stages;
}

/// The steps before the batch, and the windows among them.
void add_late(const engine::Program& program, const Stages& stages, Lines& lines) {
  std::span<const StepStage> steps{stages.before};
  if (program.taking) {
    steps = add_steps("late", program.taking->element_steps, steps, program.schema, lines, false);
    std::vector<ColumnId> made;
    for (const engine::TakenColumn& column : program.taking->cut) made.push_back(column.to);
    for (const GeneratedColumn& column : program.taking->generated) made.push_back(column.column);
    lines.add("late", fmt::format("take windows -> {}", columns_text(program.schema, made)));
  }
  add_steps("late", program.late, steps, program.schema, lines);
}

/// What is computed when a block is read, because the orders need it.
void add_early(const engine::Program& program, Lines& lines) {
  const engine::EarlyWork& early = program.early;
  if (program.taking && program.taking->early)
    lines.add("early", fmt::format("decode {} once for all windows", columns_text(program.schema, program.decoded)));
  if (early.decoder) lines.add("early", fmt::format("decode {}", columns_text(program.schema, early.decoded)));
  std::size_t steps = 0;
  const auto add_steps_before = [&](std::size_t end) {
    for (; steps < end; ++steps) {
      const engine::PlacedStep& step = early.steps[steps];
      lines.add("early", fmt::format("{} -> {}", step.name, columns_text(program.schema, step.makes))).plugin =
          step.name;
    }
  };
  for (const engine::EarlyAttribute& attribute : early.attributes) {
    add_steps_before(attribute.steps);
    lines.add("early", fmt::format("{} {}", attribute.name, attribute.value.text()));
  }
  for (const engine::FrameAttribute& attribute : early.frame_attributes) {
    add_steps_before(attribute.steps);
    lines.add("early", fmt::format("{} {}, for each frame", attribute.name, attribute.value.text()));
  }
}

void add_source(const engine::Program& program, const Stages& stages, Lines& lines) {
  const std::string& plugin = stages.source_stage->plugin;
  lines.add("source", fmt::format("{}: {}", plugin, source_text(program.source))).plugin = plugin;
  if (const auto* labels = labels_of(program.source))
    lines.add("label", fmt::format("{}: {}", labels->tensor, fmt::join(labels->classes, ", ")));
  add_orders("files", stages.file_orders, lines);
  add_orders("index", stages.selecting, lines);
  if (stages.interleave) {
    add_stage("open", stages.interleave->stage, lines);
  } else {
    lines.add("open", "one file after the other");
  }
}

std::string source_of_rows(const Stages& stages) {
  if (stages.combination != nullptr) return "merge branches";
  return stages.decoder_stage ? "decode " + stages.decoder_stage->plugin : "gather rows";
}

/// The options of a combination without its branches.
std::string options_text(const Stages& stages) {
  std::string out;
  for (const FieldInfo& field : stages.combination->description.fields) {
    const Json* const value = stages.source_stage->options->find(field.name);
    if (value == nullptr || field.kind == FieldKind::branches) continue;
    out += fmt::format("{}{} {}", out.empty() ? ": " : ", ", field.name, value->text());
  }
  return out;
}

void add_rows(const PlanText& plan, Lines& lines);

/// The source and the orders of a plan with one source, and the stretches that make its rows.
void add_reading(const PlanText& plan, Lines& lines) {
  for (const PlanText& stretch : plan.before) {
    const bool outside = lines.leave_to_other_run(true);
    add_rows(stretch, lines);
    lines.leave_to_other_run(outside);
    lines.add("made", "rows, in their order, for the stages below");
  }
  if (plan.before.empty()) {
    add_source(*plan.program, *plan.stages, lines);
  } else {
    add_orders("open", plan.stages->file_orders, lines);
    if (plan.stages->interleave) add_orders("open", {&*plan.stages->interleave, 1}, lines);
  }
}

/// Where the rows come from.
void add_decoding(const PlanText& plan, Lines& lines) {
  PlanStage& stage = lines.add("late", fmt::format("{} -> {}", source_of_rows(*plan.stages),
                                                   columns_text(plan.program->schema, plan.program->decoded)));
  if (plan.stages->decoder_stage) stage.plugin = plan.stages->decoder_stage->plugin;
}

void add_combination(const PlanText& plan, Lines& lines) {
  const std::string& plugin = plan.stages->source_stage->plugin;
  lines.add("combine", fmt::format("{} of {} branches{}", plugin, plan.branches.size(), options_text(*plan.stages)))
      .plugin = plugin;
  for (std::size_t i = 0; i < plan.branches.size(); ++i) {
    const PlanText& branch = plan.branches[i];
    const engine::Program& program = *branch.program;
    const auto outside = lines.enter(static_cast<std::int64_t>(i));
    lines.add("branch",
              fmt::format("{}{}{}", i, program.repeat ? ", repeats" : "", corruption_text(program.on_corrupt)));
    add_reading(branch, lines);
    add_record_orders(*branch.stages, branch.stages->record_orders.size(), lines);
    add_early(program, lines);
    add_decoding(branch, lines);
    add_steps("late", program.late, branch.stages->before, program.schema, lines);
    lines.enter(outside);
  }
}

/// What becomes of the source before rows are put into batches.
void add_orders_and_windows(const PlanText& plan, Lines& lines) {
  const Stages& stages = *plan.stages;
  if (stages.combination != nullptr) {
    add_combination(plan, lines);
  } else {
    add_reading(plan, lines);
  }
  const std::size_t windows_at = stages.windows.empty() ? stages.orders_in_parts : stages.windows.front().orders_before;
  const std::span<const OrderStage> orders{stages.record_orders};
  add_record_orders(stages, windows_at, lines);
  for (const WindowItem& window : stages.windows) add_stage("windows", window.stage, lines);
  add_orders(stages.windows.empty() ? "records" : "windows", orders.subspan(windows_at), lines);
  add_early(*plan.program, lines);
}

void add_making(const PlanText& plan, Lines& lines) {
  add_decoding(plan, lines);
  add_late(*plan.program, *plan.stages, lines);
}

/// A stretch, whose rows are made.
void add_rows(const PlanText& plan, Lines& lines) {
  add_orders_and_windows(plan, lines);
  add_making(plan, lines);
}

}  // namespace

std::string columns_text(const Schema& schema) {
  return columns_text(schema, {schema.visible().begin(), schema.visible().end()});
}

std::vector<PlanStage> stages_of(const PlanText& plan, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& targets) {
  const engine::Program& program = *plan.program;
  const Stages& stages = *plan.stages;
  Lines lines;
  add_orders_and_windows(plan, lines);
  add_stage("batch", *stages.batch_stage, lines);
  add_orders("batches", stages.batch_orders, lines);
  add_making(plan, lines);
  add_steps("finish", program.after, stages.after, program.schema, lines);
  for (const engine::Output& output : program.outputs) {
    ColumnSpec shown = output.spec;
    shown.shape = shown_shape(output);
    const bool input = contains(inputs, shown.name);
    const std::string_view group =
        !contains(targets, shown.name) ? (input ? "input" : "output") : (input ? "in+target" : "target");
    lines.add(group, fmt::format("{}{}", column_text(shown), delivery_text(output)));
  }
  const engine::Program* first = &program;  // later stretches draw with seeds of their own
  while (first->made) first = first->made.get();
  lines.add("run", fmt::format("{}, seed {}{}{}{}{}", epochs_text(program), first->seed,
                               program.hard_epochs ? ", batches end with their epoch" : "",
                               program.deterministic ? "" : ", order may depend on timing",
                               corruption_text(program.on_corrupt), shard_text(program.shard)));
  return lines.take();
}

PlanText text_of(const BoundDocument& document, const engine::Program& program) {
  const auto add_branches = [](const BoundDocument& whole, PlanText& out) {
    for (std::size_t i = 0; i < whole.branches.each.size(); ++i)
      out.branches.push_back(text_of(*whole.branches.each[i], out.program->branches[i]));
  };
  PlanText out{.program = &program, .stages = &document.stages, .branches = {}, .before = {}};
  add_branches(document, out);
  if (!document.made) return out;
  const engine::Program* made = program.made.get();
  for (std::size_t i = document.made->stretches.size(); i-- > 0; made = made->made.get()) {
    const BoundDocument& each = *document.made->stretches[i];
    PlanText before{.program = made, .stages = &each.stages, .branches = {}, .before = {}};
    add_branches(each, before);
    out.before.insert(out.before.begin(), std::move(before));
  }
  return out;
}

}  // namespace forebay::plan
