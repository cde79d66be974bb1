// SPDX-License-Identifier: Apache-2.0
#include "plan/build.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/order/shard_counts.h"
#include "engine/program/plan_access.h"
#include "io/patterns.h"
#include "plan/bound_columns.h"
#include "plan/canonical.h"
#include "plan/data_files.h"
#include "plan/document/names.h"
#include "plan/document/shard.h"
#include "plan/loader/lower.h"
#include "plan/outputs.h"
#include "plan/text.h"

#include <forebay/messages.h>

namespace forebay::plan {
namespace {

using engine::Program;

/// Checks a document and builds its plan, or returns all faults together. Lives for one call on the caller's thread.
class PlanBuilder {
 public:
  PlanBuilder(const Json& json, const std::string& folder, const Registry& registry)
      : json_{json}, folder_{folder}, registry_{registry} {}

  Result<Plan> run() {
    document_ = read_pipeline(json_, faults_).document;
    stages_ = read_stages(json_, registry_, faults_);
    bind_source();
    columns_ = bind_columns(stages_, faults_);
    if (faults_.empty() && columns_.outputs.empty()) complain(json_, "no tensor is left for the batch", faults_);
    group_outputs();
    check_shard();
    if (!faults_.empty()) return together(std::move(faults_));
    project(stages_, columns_, faults_);
    if (!faults_.empty()) return together(std::move(faults_));
    Program program = assemble();
    // The hash uses the paths as the document gives them: it does not change when a project moves with its data.
    const Json whole = canonical(resolved([](const std::string& path) { return path; }), registry_);
    parts_.hash = fnv1a(whole.text());
    parts_.sections = sections(whole, registry_);
    for (const auto& [name, hash] : parts_.sections) program.stream = mix(program.stream ^ hash ^ fnv1a(name));
    parts_.program = std::make_shared<const Program>(std::move(program));
    return PlanAccess::make(std::make_shared<const PlanAccess::Parts>(describe_parts(*parts_.program)));
  }

 private:
  void bind_source() {
    if (stages_.source == nullptr) return;
    const Json& options = *stages_.source_stage->options;
    auto source = keep(stages_.source->bind(options, folder_), faults_);
    if (source) source_ = *std::move(source);
    const FieldInfo* const field = paths_field(stages_.source->description);
    const Json* const paths = field != nullptr ? options.find(field->name) : nullptr;
    if (paths == nullptr) return;
    Faults unclear;
    const Json* policy = json_.find("on_corrupt");
    const auto on_corrupt = policy != nullptr ? read_on_corrupt(*policy, unclear) : engine::OnCorrupt{};
    if (unclear.empty())
      check_files(source ? source_.files : known_files(*paths, folder_), *paths, folder_, on_corrupt, faults_);
  }

  void group_outputs() {
    if (!columns_.columns_known) return;
    std::vector<std::string> names;
    for (const ColumnId id : columns_.schema.visible()) names.push_back(columns_.schema[id].name);
    check_group("inputs", names);
    check_group("targets", names);
    parts_.targets = document_.targets.value_or(std::vector<std::string>{});
    if (document_.inputs) {
      parts_.inputs = *document_.inputs;
      return;
    }
    std::copy_if(names.begin(), names.end(), std::back_inserter(parts_.inputs),
                 [&](const std::string& name) { return !contains(parts_.targets, name); });
  }

  /// Checks that a shard in the document fits the batches. The run checks the shard of a launcher.
  void check_shard() {
    const Json* json = json_.find("shard");
    const auto rows = columns_.batching.max_rows;
    if (json == nullptr || !rows) return;
    Faults none;
    const engine::Shard shard = read_shard(*json, none);
    if (!shard.source.empty() || *rows % shard.count == 0) return;
    complain(*json, engine::shard_misfit(*rows, shard.count), faults_);
  }

  void check_group(const char* key, const std::vector<std::string>& names) {
    const Json* list = json_.find(key);
    if (list == nullptr) return;
    std::vector<std::string> seen;
    for (const Json& item : list->items()) {
      if (!item.is(Json::Kind::string)) continue;  // the top level reports this
      if (!contains(names, item.string()) && !columns_.unknown.contains(item.string())) {
        complain(
            item,
            fmt::format("the batch has no tensor {}{}", quote(item.string()), among(item.string(), names, "it has")),
            faults_);
      } else if (contains(seen, item.string())) {
        complain(item, fmt::format("{} is named twice in '{}'", quote(item.string()), key), faults_);
      }
      seen.push_back(item.string());
    }
  }

  [[nodiscard]] Schema every_column() const {
    Schema out;
    for (std::size_t i = 0; i < columns_.schema.size(); ++i) {
      const auto id = static_cast<ColumnId>(i);
      out.put(i < columns_.at_batch.size() ? columns_.at_batch[id] : columns_.schema[id]);
    }
    out.keep({columns_.schema.visible().begin(), columns_.schema.visible().end()});
    return out;
  }

  static std::vector<Ordering> orderings(const std::vector<OrderStage>& stages) {
    std::vector<Ordering> out;
    for (const OrderStage& stage : stages) out.push_back(stage.ordering);
    return out;
  }

  [[nodiscard]] Program assemble() const {
    Faults none;  // has been read without faults
    return Program{.source = source_,
                   .decoder = columns_.decoder,
                   .file_orders = orderings(stages_.file_orders),
                   .interleave = stages_.interleave ? stages_.interleave->ordering : in_file_order(registry_),
                   .record_orders = orderings(stages_.record_orders),
                   .batching = columns_.batching,
                   .schema = every_column(),
                   .decoded = columns_.decoded,
                   .late = columns_.late,
                   .batched = columns_.batched,
                   .after = columns_.after,
                   .outputs = columns_.outputs,
                   .epochs = document_.epochs,
                   .seed = static_cast<std::uint64_t>(document_.seed),
                   .hard_epochs = document_.epoch_boundary == EpochBoundary::hard,
                   .deterministic = document_.deterministic,
                   .on_corrupt = read_on_corrupt(document_.on_corrupt.json, none),
                   .threads = document_.threads,
                   .memory = read_memory(json_.find("memory"), none),
                   .prefetch = document_.prefetch,
                   .shard = read_shard(document_.shard.json, none)};
  }

  /// Returns the document with each pattern replaced by its files, and each path by `named(path)`.
  [[nodiscard]] Json resolved(std::string (*named)(const std::string&)) const {
    Json out = json_;
    const Json* options = stages_.source_stage->options;
    const FieldInfo* const field = paths_field(stages_.source->description);
    const Json* const patterns = field != nullptr ? options->find(field->name) : nullptr;
    if (patterns == nullptr) return out;
    std::vector<Json> files;
    for (const std::string& path : source_.files) {
      Json file{literal(named(path))};
      file.mark(patterns->place());
      files.push_back(std::move(file));
    }
    Json all = *options;
    all.set(field->name, Json::array(std::move(files)).mark(patterns->place()));
    Json source = *json_.find("source");
    source.set(stages_.source_stage->plugin, std::move(all));
    out.set("source", std::move(source));
    return out;
  }

  PlanAccess::Parts describe_parts(const Program& program) {
    for (const engine::Output& output : program.outputs) {
      ColumnSpec shown = output.spec;
      shown.shape = shown_shape(output);
      parts_.outputs.push_back(std::move(shown));
    }
    parts_.lowered = resolved(io::absolute);
    if (program.epochs == 0 || program.source.files.empty()) parts_.batches = 0;
    parts_.text = plan_text(program, stages_, parts_.inputs, parts_.targets);
    return std::move(parts_);
  }

  const Json& json_;
  const std::string& folder_;
  const Registry& registry_;
  Faults faults_;
  PipelineDocument document_;
  Stages stages_;
  Source source_;
  BoundColumns columns_;
  PlanAccess::Parts parts_;
};

}  // namespace

Result<Plan> build(const Json& document, const std::string& folder, const Registry& registry) {
  return PlanBuilder{document, folder, registry}.run();
}

}  // namespace forebay::plan
