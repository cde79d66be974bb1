// SPDX-License-Identifier: Apache-2.0
#include "plan/build.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/draw.h"
#include "engine/index/made_index.h"
#include "engine/order/branches/open_branches.h"
#include "engine/order/shards/batch_counts.h"
#include "engine/order/shards/shard_counts.h"
#include "io/paths.h"
#include "io/patterns.h"
#include "plan/bind/attributes.h"
#include "plan/bind/bound_columns.h"
#include "plan/bind/branch_program.h"
#include "plan/bind/checks.h"
#include "plan/bind/functions.h"
#include "plan/bind/lookups.h"
#include "plan/bind/outputs.h"
#include "plan/bind/side_by_side.h"
#include "plan/bind/taking.h"
#include "plan/canonical.h"
#include "plan/data_files.h"
#include "plan/document/branch_document.h"
#include "plan/document/merged_columns.h"
#include "plan/document/names.h"
#include "plan/document/shard.h"
#include "plan/loader/lower.h"
#include "plan/text.h"

#include <forebay/messages.h>

namespace forebay::plan {
namespace {

using engine::Program;

/// Checks a document and builds its plan, or returns all faults together. Lives for one call on the caller's thread.
class PlanBuilder {
 public:
  PlanBuilder(const Json& json, const BindContext& context, const Registry& registry, std::optional<FileChecks> checks)
      : json_{json}, context_{context}, registry_{registry}, checks_{checks} {}

  /// Binds a branch of a combination, whose document this is. `whole`: the document around it.
  void bind_branch(const PipelineDocument& whole) {
    branch_ = read_branch(json_, faults_);
    document_ = whole;
    if (branch_->repeat) document_.epochs = std::nullopt;
    if (branch_->on_corrupt) document_.on_corrupt = *branch_->on_corrupt;
    stages_ = read_stages(json_, registry_, faults_, DocumentKind::branch);
    bind_functions(stages_, context_, faults_);
    read_lookups(stages_, context_, faults_);
    bind_source();
    check_source(bound(), faults_);
    columns_ = bind_columns(stages_, nullptr, source_, context_.folder, faults_);
    check_rows(bound(), faults_);
  }

  Result<Plan> run() {
    document_ = read_pipeline(json_, faults_).document;
    stages_ = read_stages(json_, registry_, faults_);
    bind_functions(stages_, context_, faults_);
    read_lookups(stages_, context_, faults_);
    if (stages_.combination != nullptr) bind_branches();
    bind_source();
    check_source(bound(), faults_);
    columns_ = bind_columns(stages_, merged_rows_ ? &*merged_rows_ : nullptr, source_, context_.folder, faults_);
    if (columns_.windows)
      bind_function(columns_.windows->windowing.asks, stages_.windows.front().stage, context_, faults_);
    if (stages_.batch_stage) bind_function(columns_.batching.asks, *stages_.batch_stage, context_, faults_);
    check_combined_batches(stages_, columns_.batching, faults_);
    if (faults_.empty() && columns_.outputs.empty()) complain(json_, "no tensor is left for the batch", faults_);
    check_rows(bound(), faults_);
    check_lanes(bound(), faults_);
    group_outputs();
    check_shard(bound(), faults_);
    if (!faults_.empty()) return together(std::move(faults_));
    project(stages_, columns_, faults_);
    project_branches();
    if (!faults_.empty()) return together(std::move(faults_));
    Program program = assemble();
    if (program.batching.epoch_end && reads_once(program)) {
      complain(
          *stages_.batch_stage->options->find("epoch_end"),
          "`epoch_end` marks the last batch of an epoch, and of rows that the program gives while the run goes on it "
          "is not known which one that is; leave it out, or collect the rows in arrays",
          faults_);
      return together(std::move(faults_));
    }
    take_late_steps(program);
    set_identity(program);
    program.stream = hash(program.source);
    sign_attributes(stages_, parts_.sections, registry_, program);
    parts_.program = std::make_shared<const Program>(std::move(program));
    return PlanAccess::make(std::make_shared<const PlanAccess::Parts>(describe_parts(*parts_.program)));
  }

 private:
  [[nodiscard]] BoundDocument bound() const {
    const Combines combines = branch_             ? Combines::is_branch
                              : branches_.empty() ? Combines::nothing
                                                  : Combines::branches;
    return {.json = json_,
            .document = document_,
            .stages = stages_,
            .source = source_,
            .columns = columns_,
            .combines = combines};
  }

  /// Binds the branches of a combination, and the combination to them.
  void bind_branches() {
    const Json& options = *stages_.source_stage->options;
    if (const Json* decode = json_.find("decode"); decode != nullptr && !decode->is(Json::Kind::null))
      complain(*decode, "every branch has its own 'decode'; move it into the branches", faults_);
    const Json* const list = branches_of(*stages_.combination, options);
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
    const std::size_t before = faults_.size();
    for (const Json& json : list->items()) {
      branches_.push_back(std::make_unique<PlanBuilder>(json, context_, registry_, checks_));
      PlanBuilder& branch = *branches_.back();
      branch.bind_branch(document_);
      known.repeat.push_back(branch.branch_->repeat);
      keep_new(branch.faults_, faults_);
    }
    auto combining = keep(stages_.combination->bind(options, known), faults_);
    if (!combining || faults_.size() != before || list->items().empty()) return;
    combining_ = *std::move(combining);
    if (!combining_.make) check_sides();
    merge_branches(options);
  }

  void check_sides() {
    std::vector<SideBranch> sides;
    for (const auto& branch : branches_)
      sides.push_back({branch->stages_, branch->document_, branch->source_.format != nullptr});
    check_side_by_side(sides, combining_.end.when == PassEnd::When::first, registry_, faults_);
  }

  void merge_branches(const Json& options) {
    std::vector<BranchColumns> given;
    for (const auto& branch : branches_) given.push_back({&branch->json_, &branch->columns_.schema});
    MergedSchema merged =
        combining_.make ? merge_columns(given, combining_, options, faults_) : join_columns(given, faults_);
    merged_ = std::move(merged.columns);
    merged_rows_.emplace(RowSource{.schema = std::move(merged.schema), .parts = {}});
    for (const auto& branch : branches_) {
      const std::vector<std::string>& files = branch->source_.files;
      source_.files.insert(source_.files.end(), files.begin(), files.end());
    }
  }

  /// Leaves out the columns of the branches that no stage after the combination needs.
  void project_branches() {
    if (branches_.empty()) return;
    std::erase_if(merged_, [&](const engine::MergedColumn& column) {
      return std::ranges::find(columns_.decoded, column.id) == columns_.decoded.end();
    });
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      PlanBuilder& branch = *branches_[i];
      project_branch(branch.stages_, merged_, i, branch.columns_, faults_);
    }
  }

  [[nodiscard]] std::vector<Program> assemble_branches() {
    std::vector<Program> out;
    for (const auto& branch : branches_) {
      out.push_back(common_program({branch->stages_, branch->columns_, branch->document_}, registry_));
      out.back().source = branch->source_;
      out.back().schema = branch->columns_.schema;
      out.back().late = branch->columns_.late;
      out.back().repeat = branch->branch_->repeat;
      // Side by side, all branches draw alike, so that orders that they have in common move their rows alike.
      out.back().seed = seed_of_branch(document_, combining_.make ? out.size() - 1 : 0);
    }
    return out;
  }

  void bind_source() {
    if (stages_.source == nullptr) return;
    const Json& options = *stages_.source_stage->options;
    if (auto source = keep(stages_.source->bind(options, with_files(context_)), faults_)) source_ = *std::move(source);
    decide_options(source_, stages_, faults_);
    const FieldInfo* const field = paths_field(stages_.source->description);
    const Json* const paths = field != nullptr ? options.find(field->name) : nullptr;
    if (paths == nullptr) return;
    files_option_ = {.plugin = stages_.source_stage->plugin, .option = field->name};
    Faults unclear;
    const Json* policy = branch_ ? &document_.on_corrupt.json : json_.find("on_corrupt");
    const auto on_corrupt = policy != nullptr ? read_on_corrupt(*policy, unclear) : engine::OnCorrupt{};
    if (unclear.empty() && checks_) check_files(*paths, context_.folder, on_corrupt, *checks_, faults_);
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

  /// Sets how rows are told apart. A run keeps track of it only where a step draws.
  static void set_identity(Program& program) {
    const bool again = program.batching.remainder == Remainder::repeat || engine::repeats(program) ||
                       std::ranges::any_of(program.branches, engine::repeats);
    program.telling = again ? Program::Identity::occurrences : Program::Identity::epochs;
    if (draws(program) || std::ranges::any_of(program.branches, draws)) program.identity = program.telling;
  }

  [[nodiscard]] std::optional<engine::Taking> taking() const {
    std::optional<engine::Taking> out = columns_.taking;
    const auto elements = static_cast<std::ptrdiff_t>(columns_.element_steps);
    if (out) out->element_steps.assign(columns_.late.begin(), columns_.late.begin() + elements);
    return out;
  }

  [[nodiscard]] Program assemble() {
    Faults none;  // has been read without faults
    Program out = common_program({stages_, columns_, document_}, registry_);
    out.source = std::move(source_);
    out.windows = columns_.windows;
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
    out.hard_epochs = document_.epoch_boundary == EpochBoundary::hard || (out.batching.epoch_end && out.epochs == 1);
    out.threads = document_.threads;
    out.memory = read_memory(json_.find("memory"), none);
    out.prefetch = document_.prefetch;
    out.shard = read_shard(document_.shard.json, none);
    out.branches = assemble_branches();
    out.combining = combining_;
    out.merged = merged_;
    if (out.taking) out.taking->early = decodes_early(out);
    return out;
  }

  /// Fills the hashes of the plan in and returns the one of its stream.
  std::uint64_t hash(const Source& source) {
    // The hash uses the paths as the document gives them: it does not change when a project moves with its data.
    parts_.without_files = with_files(json_, files_option_, Json::array());
    if (!branches_.empty()) take_out_branch_files();
    Hashes hashes = hashes_of(parts_.without_files, files_option_, source.files, registry_);
    hash_files("", stages_, columns_, hashes);
    for (std::size_t i = 0; i < branches_.size(); ++i) hash_branch(i, hashes);
    if (source.rows) {
      const std::uint64_t rows = fnv1a(columns_text(source.rows->schema));
      hashes.whole = hashes.whole * 31 + rows;
      hashes.sections.emplace_back("rows", rows);
    }
    std::uint64_t stream = 0;
    for (const auto& [name, hash] : hashes.sections) stream = mix(stream ^ hash ^ fnv1a(name));
    parts_.hash = hashes.whole;
    parts_.sections = std::move(hashes.sections);
    parts_.plugin = std::move(files_option_.plugin);
    parts_.files_option = std::move(files_option_.option);
    parts_.folder = io::current_folder();
    return stream;
  }

  void take_out_branch_files() {
    std::vector<BranchFiles> none;
    for (const auto& branch : branches_) {
      none.push_back({.where = branch->files_option_, .files = Json::array()});
      parts_.branch_files.emplace_back(branch->files_option_.plugin, branch->files_option_.option);
    }
    parts_.without_files = with_branch_files(json_, none, registry_);
  }

  /// Adds the content of the small files that orders and steps read, and what the source has read of its files for the
  /// decoder, such as the names in a header row.
  static void hash_files(const std::string& where, const Stages& stages, const BoundColumns& columns, Hashes& hashes) {
    if (stages.decided) {
      const std::uint64_t hash = fnv1a(stages.decided->text());
      hashes.whole = hashes.whole * 31 + hash;
      hashes.sections.emplace_back(where + std::string{decided_section}, hash);
    }
    for (auto& [name, hash] : lookup_hashes(stages, columns.file_hashes)) {
      hashes.whole = hashes.whole * 31 + hash;
      hashes.sections.emplace_back(where + name, hash);
    }
  }

  /// Adds the files of a branch, and the columns of rows that come ready.
  void hash_branch(std::size_t number, Hashes& hashes) {
    const PlanBuilder& branch = *branches_[number];
    hash_files(fmt::format("branch/{}: ", number), branch.stages_, branch.columns_, hashes);
    for (const std::string& file : branch.source_.files) hashes.whole = hashes.whole * 31 + fnv1a(file);
    if (branch.stages_.decoder_stage) return;
    const std::uint64_t rows = fnv1a(columns_text(branch.columns_.decoder_schema));
    hashes.whole = hashes.whole * 31 + rows;
    hashes.sections.emplace_back(fmt::format("rows of branch/{}", number), rows);
  }

  PlanAccess::Parts describe_parts(const Program& program) {
    for (const engine::Output& output : program.outputs) {
      ColumnSpec shown = output.spec;
      shown.shape = shown_shape(output);
      parts_.outputs.push_back(std::move(shown));
    }
    if (program.source.rows && program.epochs && !program.windows)
      parts_.batches = engine::batches_by_index(program, {});
    if (program.epochs == 0 || program.source.files.empty()) parts_.batches = 0;
    std::vector<const Stages*> branches;
    for (const auto& branch : branches_) branches.push_back(&branch->stages_);
    parts_.text = plan_text(program, stages_, branches, parts_.inputs, parts_.targets);
    return std::move(parts_);
  }

  const Json& json_;
  const BindContext& context_;
  const Registry& registry_;
  const std::optional<FileChecks> checks_;
  Faults faults_;
  PipelineDocument document_;
  Stages stages_;
  Source source_;  // of a combination: the files of all branches
  FilesOption files_option_;
  BoundColumns columns_;
  // Of a branch.
  std::optional<BranchDocument> branch_;
  // Of a combination.
  std::vector<std::unique_ptr<PlanBuilder>> branches_;
  Combining combining_;
  std::optional<RowSource> merged_rows_;  // only its schema: what the steps after the combination get
  std::vector<engine::MergedColumn> merged_;
  PlanAccess::Parts parts_;
};

}  // namespace

Result<Plan> build(const Json& document, const BindContext& context, const Registry& registry,
                   std::optional<FileChecks> checks) {
  return PlanBuilder{document, context, registry, checks}.run();
}

}  // namespace forebay::plan
