// SPDX-License-Identifier: Apache-2.0
#include "plan/bound_columns.h"

#include <algorithm>
#include <set>

#include "plan/document/fault_places.h"
#include "plan/outputs.h"

namespace forebay::plan {
namespace {

using engine::PlacedStep;

/// The strings in a plug-in's options that may name a tensor: neither a choice among words nor the text of a slice.
void collect_names(const Json& json, std::set<std::string>& out) {
  const auto other = [](const std::string& text) { return text.starts_with('[') || dtype_from(text).has_value(); };
  if (json.is(Json::Kind::string) && !other(json.string())) out.insert(json.string());
  for (const Json& item : json.items()) collect_names(item, out);
  for (const auto& [key, value] : json.members()) collect_names(value, out);
}

std::set<std::string> names_in(const Stage& stage, const Description& description) {
  std::set<std::string> out;
  for (const auto& member : stage.options->members()) {
    const auto& fields = description.fields;
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const FieldInfo& f) { return f.name == member.first; });
    const bool choice = field != fields.end() && field->schema.find("enum") != nullptr;
    if (!choice) collect_names(member.second, out);
  }
  return out;
}

/// The faults of options that can be seen without knowing the columns.
Faults option_faults(const Stage& stage, const Description& description) {
  Faults found;
  description.check(*stage.options, found);
  for (Error& fault : found) fault = at_option(fault, *stage.options);
  return found;
}

void check_all_options(const Stages& stages, Faults& faults) {
  const auto add = [&](const Stage& stage, const Description& description) {
    keep_new(option_faults(stage, description), faults);
  };
  for (const StepStage& step : stages.before) add(step.stage, step.type->description);
  if (stages.batcher != nullptr) add(*stages.batch_stage, stages.batcher->description);
  for (const StepStage& step : stages.after) add(step.stage, step.type->description);
}

/// Binds a decoder without the columns that something is wrong with, so that all others are judged, too.
class DecoderBinding {
 public:
  DecoderBinding(const Stages& stages, const std::vector<std::string>& wanted, Faults& faults)
      : stages_{stages}, wanted_{wanted}, faults_{faults}, options_{*stages.decoder_stage->options} {}

  std::set<std::string> left_out;
  bool none_left = false;  ///< Every column was left out.

  std::optional<Bound<Decoder>> run() {
    while (true) {
      Faults found;
      auto bound = keep_at(stages_.decoder->bind(options_, wanted_), *stages_.decoder_stage->options, found);
      if (bound) return bound;
      keep_new(found, faults_);
      if (faults_.size() > max_faults || !leave_out(found)) return std::nullopt;
    }
  }

 private:
  [[nodiscard]] bool drop_unknown(const std::string& option) {
    const auto& fields = stages_.decoder->description.fields;
    if (std::any_of(fields.begin(), fields.end(), [&](const FieldInfo& field) { return field.name == option; }))
      return false;
    return std::erase_if(options_.members(), [&](const Json::Member& member) { return member.first == option; }) > 0;
  }

  /// Takes every column out that a fault is in: a member of an option that is a map. Says whether to try again.
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

  const Stages& stages_;
  const std::vector<std::string>& wanted_;
  Faults& faults_;
  Json options_;
};

/// Binds steps one after the other. What a step that failed would have made is not known, so steps that name anything
/// that it names are judged by their options alone.
class Binding {
 public:
  Binding(Schema& schema, std::set<std::string>& doubt, Faults& faults)
      : schema_{schema}, doubt_{doubt}, faults_{faults} {}

  void bind(const std::vector<StepStage>& steps, std::vector<PlacedStep>& placed) {
    for (const StepStage& step : steps) {
      const std::set<std::string> named = names_in(step.stage, step.type->description);
      Faults found;
      if (!doubtful(named)) {
        auto bound = keep_at(step.type->bind(*step.stage.options, schema_), *step.stage.options, found);
        if (bound) {
          place(step.stage, *std::move(bound), placed);
          continue;
        }
      }
      keep_new(option_faults(step.stage, step.type->description), found);
      faults_.insert(faults_.end(), found.begin(), found.end());
      doubt_.insert(named.begin(), named.end());
    }
  }

  [[nodiscard]] bool doubtful(const std::set<std::string>& names) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return doubt_.contains(name); });
  }

 private:
  void place(const Stage& stage, Bound<Step> bound, std::vector<PlacedStep>& placed) {
    PlacedStep out{
        .step = std::move(bound.op), .name = stage.plugin, .pointer = stage.json->place().pointer, .makes = {}};
    for (std::size_t id = schema_.size(); id < bound.out.size(); ++id) out.makes.push_back(static_cast<ColumnId>(id));
    schema_ = std::move(bound.out);
    placed.push_back(std::move(out));
  }

  Schema& schema_;
  std::set<std::string>& doubt_;
  Faults& faults_;
};

void bind_batch(const Stages& stages, const Binding& steps, Flow& flow, Faults& faults) {
  const std::set<std::string> named = names_in(*stages.batch_stage, stages.batcher->description);
  const Json& options = *stages.batch_stage->options;
  Faults found;
  if (!steps.doubtful(named)) {
    if (auto batching = keep_at(stages.batcher->bind(options, flow.schema), options, found)) {
      flow.batching = *std::move(batching);
      flow.batched = batch_outputs(flow.schema, flow.batching, options, found);
    }
  }
  keep_new(option_faults(*stages.batch_stage, stages.batcher->description), found);
  faults.insert(faults.end(), found.begin(), found.end());
  if (!found.empty()) flow.doubt.insert(named.begin(), named.end());
}

/// A decoder may say what it could decode, too; steps are to see only what is wanted.
void keep_wanted(const std::vector<std::string>& wanted, Schema& schema) {
  if (wanted.empty()) return;
  const std::set<std::string> names{wanted.begin(), wanted.end()};
  std::vector<ColumnId> kept;
  for (const ColumnId id : schema.visible()) {
    if (names.contains(schema[id].name)) kept.push_back(id);
  }
  schema.keep(std::move(kept));
}

bool same_outputs(const Flow& a, const Flow& b) {
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [](const engine::Output& x, const engine::Output& y) {
                      return x.spec.name == y.spec.name && x.spec.dtype == y.spec.dtype && x.spec.shape == y.spec.shape;
                    });
}

bool enough(const Stages& stages, const Flow& all, const std::vector<std::string>& wanted) {
  Faults faults;
  const Flow flow = bind_flow(stages, wanted, faults);
  return faults.empty() && same_outputs(flow, all);
}

/// Finds out which of the doubtful columns are needed: those without which something does not bind, or gives something
/// else. Halves what it tries, so that a few needed ones among very many are found quickly.
class Prober {
 public:
  Prober(const Stages& stages, const Flow& all, const std::vector<std::string>& doubtful,
         std::vector<std::string>& used)
      : stages_{stages}, all_{all}, doubtful_{doubtful}, used_{used} {}

  void decide(std::size_t begin, std::size_t end) {
    if (begin == end || dispensable(end)) return;
    if (end - begin == 1) {
      used_.push_back(doubtful_[begin]);
      return;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    decide(begin, middle);
    decide(middle, end);
  }

 private:
  /// Whether the columns that are used for certain and the undecided ones from `end` on are enough.
  [[nodiscard]] bool dispensable(std::size_t end) const {
    std::vector<std::string> wanted = used_;
    wanted.insert(wanted.end(), doubtful_.begin() + static_cast<std::ptrdiff_t>(end), doubtful_.end());
    return !wanted.empty() && enough(stages_, all_, wanted);
  }

  const Stages& stages_;
  const Flow& all_;
  const std::vector<std::string>& doubtful_;
  std::vector<std::string>& used_;
};

}  // namespace

Flow bind_flow(const Stages& stages, const std::vector<std::string>& wanted, Faults& faults) {
  Flow flow;
  if (stages.decoder == nullptr) return check_all_options(stages, faults), flow;
  DecoderBinding binding{stages, wanted, faults};
  std::optional<Bound<Decoder>> decoder = binding.run();
  if (!decoder && !binding.none_left) return check_all_options(stages, faults), flow;
  if (decoder) {
    flow.decoder = std::move(decoder->op);
    flow.schema = std::move(decoder->out);
    keep_wanted(wanted, flow.schema);
  }
  flow.decoded.assign(flow.schema.visible().begin(), flow.schema.visible().end());
  for (const ColumnId id : flow.decoded) flow.decoded_names.push_back(flow.schema[id].name);
  for (const std::string& name : binding.left_out)
    flow.schema.put({.name = name, .shape = {}});  // so that messages list it
  flow.doubt = std::move(binding.left_out);
  for (const Json* item : stages.unread) collect_names(*item, flow.doubt);
  flow.columns_known = true;
  Binding steps{flow.schema, flow.doubt, faults};
  steps.bind(stages.before, flow.late);
  if (stages.batcher == nullptr) return flow;
  bind_batch(stages, steps, flow, faults);
  flow.at_batch = flow.schema;
  flow.schema = behind_batch(flow.schema, flow.batched);
  steps.bind(stages.after, flow.after);
  flow.outputs = final_outputs(flow.schema, flow.at_batch.size(), flow.batched, flow.batching);
  return flow;
}

std::vector<std::string> used_columns(const Stages& stages, const Flow& all) {
  std::vector<std::string> used;
  std::vector<std::string> doubtful;
  for (std::size_t i = 0; i < all.decoded.size(); ++i) {
    const auto visible = all.schema.visible();
    const bool shown = std::find(visible.begin(), visible.end(), all.decoded[i]) != visible.end();
    (shown ? used : doubtful).push_back(all.decoded_names[i]);
  }
  Prober{stages, all, doubtful, used}.decide(0, doubtful.size());
  return used;
}

}  // namespace forebay::plan
