// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/bound_columns.h"

#include <algorithm>
#include <functional>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "plan/bind/attributes.h"
#include "plan/bind/outputs.h"
#include "plan/bind/record_columns.h"
#include "plan/bind/taking.h"
#include "plan/bind/windows.h"

namespace forebay::plan {
namespace {

using engine::PlacedStep;

/// Returns the tensors that the options of a stage name.
std::vector<std::string> named_tensors(const Stage& stage, const Description& description) {
  std::vector<std::string> names;
  tensors_in(*stage.options, description.fields, names);
  return names;
}

/// Returns the faults of the options that do not depend on the columns.
Faults option_faults(const Stage& stage, const Description& description) {
  Faults found;
  description.check(*stage.options, found);
  return found;
}

void check_all_options(const Stages& stages, Faults& faults) {
  const auto add = [&](const Stage& stage, const Description& description) {
    keep_new(option_faults(stage, description), faults);
  };
  for (const std::vector<StepStage>* steps : {&stages.before, &stages.after}) {
    for (const StepStage& step : *steps) {
      if (step.type != nullptr) add(step.stage, step.type->description);
    }
  }
  if (stages.batcher != nullptr) add(*stages.batch_stage, stages.batcher->description);
}

/// Takes the first token off a pointer: "/a~1b/c" gives "a/b" and leaves "/c".
std::string take_token(std::string_view& pointer) {
  const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
  const std::string_view token = pointer.substr(1, end - 1);
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    out += !escape ? token[i] : token[++i] == '1' ? '/' : '~';
  }
  pointer.remove_prefix(end);
  return out;
}

/// Binds a decoder. Leaves out the columns that have a fault, and tries again to find the faults of the others.
class DecoderBinder {
 public:
  DecoderBinder(const Stages& stages, Faults& faults)
      : type_{*stages.decoder}, faults_{faults}, options_{*stages.decoder_stage->options} {}

  std::set<std::string> left_out;
  bool none_left = false;  ///< Every column was left out.

  std::optional<Bound<Decoder>> bind() {
    while (true) {
      Faults found;
      auto bound = keep(type_.bind(options_, {}), found);
      if (bound) return bound;
      keep_new(found, faults_);
      if (faults_.size() > max_faults || !leave_out(found)) return std::nullopt;
    }
  }

 private:
  [[nodiscard]] bool drop_unknown(const std::string& option) {
    const auto& fields = type_.description.fields;
    if (std::any_of(fields.begin(), fields.end(), [&](const FieldInfo& field) { return field.name == option; }))
      return false;
    return std::erase_if(options_.members(), [&](const Json::Member& member) { return member.first == option; }) > 0;
  }

  /// Removes every column that has a fault; such a column is a member of an option that is a map. True: the caller may
  /// bind again.
  bool leave_out(const Faults& found) {
    bool changed = false;
    const std::string root = options_.place().pointer + "/";
    for (const Error& fault : found) {
      if (!fault.place().pointer.starts_with(root)) continue;
      std::string_view rest = std::string_view{fault.place().pointer}.substr(root.size() - 1);
      const std::string option = take_token(rest);
      if (rest.empty()) {
        changed = drop_unknown(option) || changed;
        continue;
      }
      const std::string column = take_token(rest);
      for (auto& [key, map] : options_.members()) {
        const auto same = [&](const Json::Member& member) { return member.first == column; };
        if (key != option || std::erase_if(map.members(), same) == 0) continue;
        left_out.insert(column);
        changed = true;
        none_left = none_left || map.members().empty();
      }
    }
    return changed && !none_left;
  }

  const DecoderType& type_;
  Faults& faults_;
  Json options_;
};

/// Binds steps one after the other. `schema` is the input of the next step.
class StepBinder {
 public:
  StepBinder(BoundColumns& columns, const std::string& folder, Faults& faults)
      : schema_{columns.schema},
        unknown_{columns.unknown},
        hashes_{columns.file_hashes},
        folder_{folder},
        faults_{faults} {}

  /// `before_step` is called before each step, with its number.
  void bind(
      const std::vector<StepStage>& steps, std::vector<PlacedStep>& placed,
      const std::function<void(std::size_t)>& before_step = [](std::size_t) {}) {
    for (std::size_t number = 0; number < steps.size(); ++number) {
      const StepStage& step = steps[number];
      before_step(number);
      if (step.type == nullptr) {
        unknown_.all = true;
        continue;
      }
      const std::vector<std::string> named = named_tensors(step.stage, step.type->description);
      Faults found;
      if (!unknown_.contain_any(named)) {
        if (auto bound = keep(step.type->bind(*step.stage.options, schema_), found)) {
          place(step.stage, *std::move(bound), placed);
          continue;
        }
      }
      keep_new(option_faults(step.stage, step.type->description), found);
      faults_.insert(faults_.end(), found.begin(), found.end());
      unknown_.names.insert(named.begin(), named.end());
    }
  }

 private:
  void place(const Stage& stage, Bound<Step> bound, std::vector<PlacedStep>& placed) {
    read_step_files(bound, stage, folder_, hashes_, faults_);
    PlacedStep out{.step = std::move(bound.op),
                   .name = stage.plugin,
                   .pointer = stage.json->place().pointer,
                   .reads = std::move(bound.reads),
                   .makes = {},
                   .draws = bound.draws,
                   .expensive = bound.expensive};
    for (std::size_t id = schema_.size(); id < bound.out.size(); ++id) out.makes.push_back(static_cast<ColumnId>(id));
    schema_ = std::move(bound.out);
    placed.push_back(std::move(out));
  }

  Schema& schema_;
  UnknownTensors& unknown_;
  FileHashes& hashes_;
  const std::string& folder_;
  Faults& faults_;
};

/// Binds what the batcher asks of records, or of windows.
void bind_batcher_attributes(const Stages& stages, const RowSource* rows, BoundColumns& columns, Faults& faults) {
  const auto& attributes = columns.batching.attributes;
  if (columns.windows) {
    columns.batcher_attribute = columns.windows->attributes.size();
    WindowBinder{stages, rows, columns, faults}.bind_attributes(attributes, *stages.batch_stage);
  } else {
    columns.batcher_attribute = columns.early.attributes.size();
    bind_attributes(attributes, *stages.batch_stage, columns, columns.early, faults);
  }
}

/// Makes the rows of a batcher that packs out of spans.
void pack(BoundColumns& columns, const Json& options, Faults& faults) {
  if (columns.batching.packs.empty()) return;
  for (const auto& [kind, name] : columns.batching.generated) {
    if (!columns.schema.find(name).ok()) continue;
    complain(options, fmt::format("there is already a tensor {}; choose another name", quote(name)), faults);
    return;
  }
  if (!columns.windows) {
    columns.taking = pack_columns(columns.batching, columns.schema);
    return;
  }
  if (columns.late.size() > columns.element_steps) {
    complain(options,
             fmt::format("'{}' stands between the windows and a batcher that puts several of them into a row; put it "
                         "before the windows",
                         columns.late[columns.element_steps].name),
             faults);
    return;
  }
  const auto done = pack_windows(columns.batching, *columns.windows, *columns.taking, columns.schema);
  if (!done.ok()) faults.push_back(at_options(done.error(), options));
}

void bind_batch(const Stages& stages, const RowSource* rows, BoundColumns& columns, Faults& faults) {
  const std::vector<std::string> named = named_tensors(*stages.batch_stage, stages.batcher->description);
  const Json& options = *stages.batch_stage->options;
  Faults found;
  if (!columns.unknown.contain_any(named)) {
    if (auto batching = keep(stages.batcher->bind(options, columns.schema), found)) {
      columns.batching = *std::move(batching);
      bind_batcher_attributes(stages, rows, columns, found);
      pack(columns, options, found);
      for (const ColumnId id : columns.batching.hides) columns.schema.hide(id);
      columns.batched = batch_outputs(columns.schema, columns.batching, options, found);
    }
  }
  keep_new(option_faults(*stages.batch_stage, stages.batcher->description), found);
  faults.insert(faults.end(), found.begin(), found.end());
  if (!found.empty()) columns.unknown.names.insert(named.begin(), named.end());
}

/// Adds the decoder's columns to `columns`. False: the columns are unknown.
bool bind_decoder(const Stages& stages, BoundColumns& columns, Faults& faults) {
  DecoderBinder binder{stages, faults};
  std::optional<Bound<Decoder>> decoder = binder.bind();
  if (!decoder && !binder.none_left) return false;
  if (decoder) {
    columns.decoder = std::move(decoder->op);
    columns.schema = std::move(decoder->out);
  }
  columns.decoder_schema = columns.schema;
  columns.decoded.assign(columns.schema.visible().begin(), columns.schema.visible().end());
  for (const std::string& name : binder.left_out)
    columns.schema.put({.name = name, .shape = {}});  // so that messages list it
  columns.unknown.names = std::move(binder.left_out);
  return true;
}

/// A set of columns.
class ColumnSet {
 public:
  explicit ColumnSet(std::size_t columns) : has_(columns) {}
  /// Adds the ids; ignores an id that no column has.
  void add(const std::vector<ColumnId>& ids) {
    for (const ColumnId id : ids) {
      if (id >= 0 && static_cast<std::size_t>(id) < has_.size()) has_[static_cast<std::size_t>(id)] = true;
    }
  }
  [[nodiscard]] bool has(ColumnId id) const { return has_[static_cast<std::size_t>(id)]; }

 private:
  std::vector<bool> has_;
};

/// Leaves out what steps make and nothing uses, where a step can.
void project_steps(const ColumnSet& used, BoundColumns& columns, Faults& faults) {
  const auto is_used = [&](ColumnId id) { return used.has(id); };
  for (PlacedStep& step : columns.late) {
    auto projected = keep(step.step->projected(is_used), faults);
    if (!projected || !*projected) continue;
    step.step = std::shared_ptr<const Step>{std::move(*projected)};
  }
}

/// Binds the decoder again, for the columns in `wanted` only. The ids of columns do not change. Null after a fault.
std::shared_ptr<const Decoder> decode_only(const Stages& stages, const std::vector<ColumnId>& wanted,
                                           const BoundColumns& columns, Faults& faults) {
  std::vector<std::string> names;
  const Schema& before = columns.decoder_schema;
  for (const ColumnId id : wanted) names.push_back(before[id].name);
  auto decoder = keep(stages.decoder->bind(*stages.decoder_stage->options, names), faults);
  if (!decoder) return nullptr;
  for (const ColumnId id : wanted) {
    const auto at = static_cast<std::size_t>(id);
    if (at < decoder->out.size() && decoder->out[id].name == before[id].name) continue;
    faults.emplace_back(Code::internal,
                        fmt::format("the decoder '{}' numbers its columns otherwise when only some are wanted",
                                    stages.decoder_stage->plugin));
    return nullptr;
  }
  return std::move(decoder->op);
}

/// Places what the attributes need: the steps that make their columns, and a decoder for the columns that those read.
void place_early(const Stages& stages, BoundColumns& columns, Faults& faults) {
  engine::EarlyWork& early = columns.early;
  if (early.empty()) return;
  const std::vector<bool> needed = needed_steps(columns.late, early);
  const auto placed = [&](std::size_t steps) {
    const auto end = needed.begin() + static_cast<std::ptrdiff_t>(steps);
    return static_cast<std::size_t>(std::count(needed.begin(), end, true));
  };
  ColumnSet used{columns.schema.size()};
  for (engine::EarlyAttribute& attribute : early.attributes) {
    used.add(attribute.value.reads());
    attribute.steps = placed(attribute.steps);
  }
  for (engine::FrameAttribute& attribute : early.frame_attributes) {
    used.add(attribute.reads);
    attribute.steps = placed(attribute.steps);
  }
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    used.add(columns.late[i].reads);
    early.steps.push_back(columns.late[i]);
  }
  std::copy_if(columns.decoded.begin(), columns.decoded.end(), std::back_inserter(early.decoded),
               [&](ColumnId id) { return used.has(id); });
  if (columns.decoder && !early.decoded.empty()) early.decoder = decode_only(stages, early.decoded, columns, faults);
}

}  // namespace

bool UnknownTensors::contain_any(const std::vector<std::string>& some) const {
  return std::any_of(some.begin(), some.end(), [&](const std::string& name) { return contains(name); });
}

BoundColumns bind_columns(const Stages& stages, const RowSource* merged, const Source& source,
                          const std::string& folder, Faults& faults) {
  const RowSource* const rows = merged != nullptr ? merged : source.rows.get();
  BoundColumns columns;
  if (rows != nullptr) {
    columns.schema = columns.decoder_schema = rows->schema;
    columns.decoded.assign(rows->schema.visible().begin(), rows->schema.visible().end());
  } else if (stages.decoder == nullptr || !bind_decoder(stages, columns, faults)) {
    check_all_options(stages, faults);
    return columns;
  }
  columns.columns_known = true;
  if (merged == nullptr) add_record_columns(source, stages, columns, faults);
  columns.implied = columns.late.size();
  StepBinder steps{columns, folder, faults};
  WindowBinder windows{stages, rows, columns, faults};
  const auto bind_orders = [&](std::size_t number) {
    const auto bind_order = [&](const OrderStage& order) {
      if (order.steps_before != number) return;
      if (columns.windows) {
        windows.bind_attributes(order.ordering.attributes, order.stage);
      } else {
        bind_attributes(order.ordering.attributes, order.stage, columns, columns.early, faults);
      }
    };
    std::ranges::for_each(stages.selecting, bind_order);
    if (stages.interleave) bind_order(*stages.interleave);
    for (std::size_t i = 0; i <= stages.record_orders.size(); ++i) {
      windows.bind(number, i);
      if (i < stages.record_orders.size()) bind_order(stages.record_orders[i]);
    }
  };
  steps.bind(stages.before, columns.late, bind_orders);
  bind_orders(stages.before.size());
  for (const OrderStage& order : stages.selecting) columns.early.selecting += order.ordering.attributes.size();
  if (stages.batcher == nullptr) return columns;
  bind_batch(stages, rows, columns, faults);
  columns.at_batch = columns.schema;
  columns.schema = after_batch(columns.schema, columns.batched);
  steps.bind(stages.after, columns.after);
  columns.outputs = final_outputs(columns.schema, columns.at_batch.size(), columns.batched, columns.batching);
  return columns;
}

void project(const Stages& stages, BoundColumns& columns, Faults& faults) {
  ColumnSet used{columns.schema.size()};
  for (const engine::Output& output : columns.outputs) used.add({output.id});
  for (const PlacedStep& step : columns.after) used.add(step.reads);
  std::erase_if(columns.batched, [&](const engine::Output& output) { return !used.has(output.id); });
  used.add(columns.batching.reads);
  for (const PlacedStep& step : columns.late) used.add(step.reads);
  if (columns.taking) {
    keep_used(*columns.taking, [&](ColumnId id) { return used.has(id); });
    for (const engine::TakenColumn& cut : columns.taking->cut) used.add({cut.from});
  }

  std::vector<ColumnId> wanted;
  std::copy_if(columns.decoded.begin(), columns.decoded.end(), std::back_inserter(wanted),
               [&](ColumnId id) { return used.has(id); });
  if (wanted.empty() && !columns.decoded.empty())
    wanted.push_back(columns.decoded.back());  // a decoder must have at least one column
  place_early(stages, columns, faults);        // with whole steps: attributes may use other columns than the batches
  project_steps(used, columns, faults);
  if (wanted.size() == columns.decoded.size()) return;
  if (!columns.decoder) {
    columns.decoded = std::move(wanted);
  } else if (auto decoder = decode_only(stages, wanted, columns, faults)) {
    columns.decoder = std::move(decoder);
    columns.decoded = std::move(wanted);
  }
}

}  // namespace forebay::plan
