// SPDX-License-Identifier: Apache-2.0
#include "plan/flow.h"

#include <algorithm>
#include <set>

#include "plan/outputs.h"

namespace forebay::plan {
namespace {

using engine::PlacedStep;

void collect_strings(const Json& json, std::set<std::string>& out) {
  if (json.is(Json::Kind::string)) out.insert(json.string());
  for (const Json& item : json.items()) collect_strings(item, out);
  for (const auto& [key, value] : json.members()) collect_strings(value, out);
}

/// The faults of options that can be seen without knowing the columns.
Faults option_faults(const Stage& stage, const Description& description) {
  Faults faults;
  description.check(*stage.options, faults);
  return faults;
}

void check_all_options(const Stages& stages, Faults& faults) {
  const auto add = [&](const Stage& stage, const Description& description) {
    const Faults found = option_faults(stage, description);
    faults.insert(faults.end(), found.begin(), found.end());
  };
  for (const StepStage& step : stages.before) add(step.stage, step.type->description);
  if (stages.batcher != nullptr) add(*stages.batch_stage, stages.batcher->description);
  for (const StepStage& step : stages.after) add(step.stage, step.type->description);
}

/// Binds steps one after the other. What a step that failed would have made is not known, so steps that name anything
/// that it names are not judged.
class Binding {
 public:
  Binding(Schema& schema, Faults& faults) : schema_{schema}, faults_{faults} {}

  void bind(const std::vector<StepStage>& steps, std::vector<PlacedStep>& placed) {
    for (const StepStage& step : steps) {
      std::set<std::string> named;
      collect_strings(*step.stage.options, named);
      Faults found;
      auto bound = keep(step.type->bind(*step.stage.options, schema_), found);
      if (bound) {
        place(step.stage, *std::move(bound), placed);
        continue;
      }
      point_at_options(*step.stage.options, found);
      if (doubtful(named)) found = option_faults(step.stage, step.type->description);
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
  Faults& faults_;
  std::set<std::string> doubt_;
};

void bind_batch(const Stages& stages, const Binding& steps, Flow& flow, Faults& faults) {
  std::set<std::string> named;
  collect_strings(*stages.batch_stage->options, named);
  Faults found;
  auto batching = keep(stages.batcher->bind(*stages.batch_stage->options, flow.schema), found);
  point_at_options(*stages.batch_stage->options, found);
  if (batching) {
    flow.batching = *std::move(batching);
    flow.batched = batch_outputs(flow.schema, flow.batching, *stages.batch_stage->options, found);
  }
  if (steps.doubtful(named)) found = option_faults(*stages.batch_stage, stages.batcher->description);
  faults.insert(faults.end(), found.begin(), found.end());
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
class Probing {
 public:
  Probing(const Stages& stages, const Flow& all, const std::vector<std::string>& doubtful,
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
  std::optional<Bound<Decoder>> decoder;
  if (stages.decoder != nullptr) decoder = keep(stages.decoder->bind(*stages.decoder_stage->options, wanted), faults);
  if (!decoder) return check_all_options(stages, faults), flow;
  flow.decoder = std::move(decoder->op);
  flow.schema = std::move(decoder->out);
  keep_wanted(wanted, flow.schema);
  flow.decoded.assign(flow.schema.visible().begin(), flow.schema.visible().end());
  for (const ColumnId id : flow.decoded) flow.decoded_names.push_back(flow.schema[id].name);
  Binding before{flow.schema, faults};
  before.bind(stages.before, flow.late);
  if (stages.batcher == nullptr) return flow;
  bind_batch(stages, before, flow, faults);
  flow.at_batch = flow.schema;
  flow.schema = behind_batch(flow.schema, flow.batched);
  Binding after{flow.schema, faults};
  after.bind(stages.after, flow.after);
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
  Probing{stages, all, doubtful, used}.decide(0, doubtful.size());
  return used;
}

}  // namespace forebay::plan
