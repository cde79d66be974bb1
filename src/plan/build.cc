// SPDX-License-Identifier: Apache-2.0
#include "plan/build.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/draw.h"
#include "engine/order/file_shard.h"
#include "engine/order/open_branches.h"
#include "engine/order/shard_counts.h"
#include "io/paths.h"
#include "io/patterns.h"
#include "plan/attributes.h"
#include "plan/bound_columns.h"
#include "plan/branch_program.h"
#include "plan/canonical.h"
#include "plan/data_files.h"
#include "plan/document/branch_document.h"
#include "plan/document/merged_columns.h"
#include "plan/document/names.h"
#include "plan/document/shard.h"
#include "plan/loader/lower.h"
#include "plan/outputs.h"
#include "plan/taking.h"
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
    bind_source();
    check_decoder();
    check_access();
    check_attributes();
    columns_ = bind_columns(stages_, source_.rows.get(), faults_);
    check_draws();
  }

  Result<Plan> run() {
    document_ = read_pipeline(json_, faults_).document;
    stages_ = read_stages(json_, registry_, faults_);
    if (stages_.combination != nullptr) bind_branches();
    bind_source();
    check_decoder();
    check_access();
    check_attributes();
    columns_ = bind_columns(stages_, merged_rows_ ? &*merged_rows_ : source_.rows.get(), faults_);
    check_combined_batches(stages_, columns_.batching, faults_);
    if (faults_.empty() && columns_.outputs.empty()) complain(json_, "no tensor is left for the batch", faults_);
    check_draws();
    check_skips();
    group_outputs();
    check_shard();
    if (!faults_.empty()) return together(std::move(faults_));
    project(stages_, columns_, faults_);
    project_branches();
    if (!faults_.empty()) return together(std::move(faults_));
    Program program = assemble();
    take_late_steps(program);
    program.identity = identity_of(program);
    program.stream = hash(program.source);
    sign_attributes(stages_, parts_.sections, registry_, program);
    parts_.program = std::make_shared<const Program>(std::move(program));
    return PlanAccess::make(std::make_shared<const PlanAccess::Parts>(describe_parts(*parts_.program)));
  }

 private:
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
    merge_branches(options);
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
      out.push_back(branch_program({branch->stages_, branch->source_, branch->columns_, branch->document_}, registry_));
      out.back().repeat = branch->branch_->repeat;
      out.back().seed = seed_of_branch(document_, out.size() - 1);
    }
    return out;
  }

  void bind_source() {
    if (stages_.source == nullptr) return;
    const Json& options = *stages_.source_stage->options;
    auto source = keep(stages_.source->bind(options, context_), faults_);
    if (source) source_ = *std::move(source);
    const FieldInfo* const field = paths_field(stages_.source->description);
    const Json* const paths = field != nullptr ? options.find(field->name) : nullptr;
    if (paths == nullptr) return;
    files_option_ = {.plugin = stages_.source_stage->plugin, .option = field->name};
    Faults unclear;
    const Json* policy = branch_ ? &document_.on_corrupt.json : json_.find("on_corrupt");
    const auto on_corrupt = policy != nullptr ? read_on_corrupt(*policy, unclear) : engine::OnCorrupt{};
    if (unclear.empty() && checks_) check_files(*paths, context_.folder, on_corrupt, *checks_, faults_);
  }

  /// Records need a decoder; rows that come ready have none.
  void check_decoder() {
    if (source_.rows && stages_.decoder_stage) {
      complain(*stages_.decoder_stage->json,
               fmt::format("the rows of '{}' come ready; leave 'decode' out", stages_.source_stage->plugin), faults_);
    } else if (!source_.rows && !stages_.decoder_stage && stages_.source != nullptr && source_.format) {
      complain(json_, "missing required option 'decode'", faults_);
    }
  }

  /// Rows that come one after the other can be read once, in their order.
  void check_access() {
    if (!source_.rows || source_.rows->resident()) return;
    const std::string& name = stages_.source_stage->plugin;
    if (document_.epochs != 1) {
      const Json* epochs = json_.find("epochs");
      complain(epochs != nullptr ? *epochs : *stages_.source_stage->options,
               fmt::format("the rows of '{}' can be read once, so 'epochs' must be 1{}", name,
                           branch_ ? ", and the branch cannot repeat" : ""),
               faults_);
    }
    const auto check = [&](const OrderStage& order) {
      if (!order.ordering.random_access) return;
      complain(*order.stage.options,
               fmt::format("the rows of '{}' come one after the other and cannot be reached in any order; give '{}' a "
                           "buffer",
                           name, order.stage.plugin),
               faults_);
    };
    if (stages_.interleave) check(*stages_.interleave);
    for (const OrderStage& order : stages_.record_orders) check(order);
  }

  /// Attributes are computed when records are read, or when a file is indexed.
  void check_attributes() {
    const auto random = [](const OrderStage& order) { return order.ordering.random_access; };
    const bool random_access =
        (stages_.interleave && random(*stages_.interleave)) || std::ranges::any_of(stages_.record_orders, random);
    for_each_order(stages_, [&](const OrderStage& order) {
      if (order.ordering.attributes.empty()) return;
      if (source_.files_a_part > 0 && random_access) {
        complain(
            *order.stage.options,
            fmt::format("'{}' needs to look into the files of '{}' before they are read in any order, and they have "
                        "no index; give the shuffle a buffer",
                        order.stage.plugin, stages_.source_stage->plugin),
            faults_);
      }
    });
  }

  /// A draw belongs to one record and its pass. Spans of elements have no draw of their own, and a batcher that holds
  /// elements does not know from which pass they came.
  void check_draws() {
    const auto check_combined = [&](const engine::PlacedStep& step) {
      if (!step.draws) return;
      const std::string message = fmt::format(
          "'{}' draws at random for each record, which a combination cannot do yet; leave its random options out",
          step.name);
      faults_.push_back(Error{Code::config, Detail::invalid_argument, message}.at(Place{.pointer = step.pointer}));
    };
    if (branch_ || !branches_.empty()) {
      std::ranges::for_each(columns_.late, check_combined);
      std::ranges::for_each(columns_.after, check_combined);
    }
    const bool one_pass = document_.epoch_boundary == EpochBoundary::hard || document_.epochs == 1;
    const bool mixes = columns_.batching.carries && !one_pass;
    if (!columns_.taking && !mixes) return;
    const auto check = [&](const engine::PlacedStep& step) {
      if (!step.draws) return;
      const std::string message =
          columns_.taking ? fmt::format(
                                "'{}' draws at random for each record, and the rows of this plan are made of spans of "
                                "records; leave its random options out",
                                step.name)
                          : fmt::format(
                                "'{}' draws at random for each record and epoch, and these batches mix epochs; "
                                "say \"epoch_boundary\": \"hard\"",
                                step.name);
      faults_.push_back(Error{Code::config, Detail::invalid_argument, message}.at(Place{.pointer = step.pointer}));
    };
    std::ranges::for_each(columns_.late, check);
    std::ranges::for_each(columns_.after, check);
  }

  void check_skips() {
    const Json* const json = json_.find("on_corrupt");
    Faults none;
    if (json == nullptr || (!columns_.taking && branches_.empty())) return;
    if (read_on_corrupt(*json, none).policy != engine::Corrupt::skip_row) return;
    complain(*json,
             fmt::format("\"skip_row\" takes whole rows out, and the rows of this plan are {}; use \"skip_record\"",
                         columns_.taking ? "made of spans of records" : "those of a combination"),
             faults_);
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
    if (shard.by == ShardBy::file && shard.count > 1 && columns_.windows)
      complain(*json, std::string{engine::windowed_file_shard}, faults_);
    if (shard.by == ShardBy::file && shard.count > 1 && !engine::countable(orderings(stages_.record_orders)))
      complain(*json, std::string{engine::filtered_file_shard}, faults_);
    if (shard.by == ShardBy::file && shard.count > 1 && stages_.combination != nullptr)
      complain(*json, std::string{engine::combined_file_shard}, faults_);
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

  /// What tells the rows of a plan apart. Two occurrences of a record in a pass need a count only where a step draws.
  static Program::Identity identity_of(const Program& program) {
    const auto draws = [](const engine::PlacedStep& step) { return step.draws; };
    const auto repeats = [](const Ordering& order) { return order.repeats; };
    if (!std::ranges::any_of(program.late, draws) && !std::ranges::any_of(program.after, draws))
      return Program::Identity::none;
    const bool again = program.batching.remainder == Remainder::repeat || program.interleave.repeats ||
                       std::ranges::any_of(program.file_orders, repeats) ||
                       std::ranges::any_of(program.record_orders, repeats);
    return again ? Program::Identity::occurrences : Program::Identity::epochs;
  }

  static std::vector<Ordering> orderings(const std::vector<OrderStage>& stages) {
    std::vector<Ordering> out;
    for (const OrderStage& stage : stages) out.push_back(stage.ordering);
    return out;
  }

  [[nodiscard]] std::optional<engine::Taking> taking() const {
    std::optional<engine::Taking> out = columns_.taking;
    const auto elements = static_cast<std::ptrdiff_t>(columns_.element_steps);
    if (out) out->element_steps.assign(columns_.late.begin(), columns_.late.begin() + elements);
    return out;
  }

  [[nodiscard]] Program assemble() {
    Faults none;  // has been read without faults
    return Program{
        .source = std::move(source_),
        .decoder = columns_.decoder,
        .file_orders = orderings(stages_.file_orders),
        .interleave = stages_.interleave ? stages_.interleave->ordering : in_file_order(registry_),
        .record_orders = orderings(stages_.record_orders),
        .early = columns_.early,
        .windows = columns_.windows,
        .batching = columns_.batching,
        .batcher_attribute = columns_.batcher_attribute,
        .schema = every_column(),
        .decoded = columns_.decoded,
        .taking = taking(),
        .late = {columns_.late.begin() + static_cast<std::ptrdiff_t>(columns_.element_steps), columns_.late.end()},
        .batched = columns_.batched,
        .batch_orders = orderings(stages_.batch_orders),
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
        .shard = read_shard(document_.shard.json, none),
        .branches = assemble_branches(),
        .combining = combining_,
        .merged = merged_};
  }

  /// Fills the hashes of the plan in and returns the one of its stream.
  std::uint64_t hash(const Source& source) {
    // The hash uses the paths as the document gives them: it does not change when a project moves with its data.
    parts_.without_files = with_files(json_, files_option_, Json::array());
    if (!branches_.empty()) take_out_branch_files();
    Hashes hashes = hashes_of(parts_.without_files, files_option_, source.files, registry_);
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

  /// Adds the files of a branch, and the columns of rows that come ready.
  void hash_branch(std::size_t number, Hashes& hashes) {
    const PlanBuilder& branch = *branches_[number];
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
