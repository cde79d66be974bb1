// SPDX-License-Identifier: Apache-2.0
// The functions of PlanBuilder that tell what a plan is: its hashes, groups of tensors and words.
#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "base/draw.h"
#include "engine/order/shards/batch_counts.h"
#include "io/patterns.h"
#include "plan/bind/attributes.h"
#include "plan/bind/lookups.h"
#include "plan/bind/outputs.h"
#include "plan/document/names.h"
#include "plan/plan_builder.h"
#include "plan/text.h"

#include <forebay/messages.h>

namespace forebay::plan {

using engine::Program;

/// Fills the hashes of the plan in and returns the one of its stream. The files are those of the program: those of
/// builders were moved there.
std::uint64_t PlanBuilder::hash(const Program& program) {
  // The hash uses the paths as the document gives them: it does not change when a project moves with its data.
  const PlanBuilder& first = root();
  parts_.files = files_place();
  parts_.without_files = without_files(written_, parts_.files);
  const Program& reads = engine::innermost(program);
  Hashes hashes = hashes_of(parts_.without_files, parts_.files, reads.source.files, planning_.registry);
  hash_stretches("", hashes);
  for (std::size_t i = 0; i < first.branches_.size(); ++i)
    first.branches_[i]->hash_branch(fmt::format("branch/{}", i), reads.branches[i], hashes);
  if (reads.source.rows) {
    const std::uint64_t rows = fnv1a(columns_text(reads.source.rows->schema));
    hashes.whole = hashes.whole * 31 + rows;
    hashes.sections.emplace_back("rows", rows);
  }
  std::uint64_t stream = 0;
  for (const auto& [name, hash] : hashes.sections) stream = mix(stream ^ hash ^ fnv1a(name));
  if (first.combining_.passes) stream = mix(stream ^ first.combining_.passes(std::numeric_limits<std::int64_t>::max()));
  parts_.hash = hashes.whole;
  parts_.sections = std::move(hashes.sections);
  parts_.folder = io::current_folder();
  return stream;
}

FilesPlace PlanBuilder::files_place() const {
  const PlanBuilder& first = root();
  FilesPlace out = first.files_place_;
  for (const auto& branch : first.branches_) out.branches.push_back(branch->files_place());
  return out;
}

/// Adds what the stages read of small files, those of the stretches before the document, too.
void PlanBuilder::hash_stretches(const std::string& where, Hashes& hashes) const {
  if (made_) {
    for (std::size_t i = 0; i < made_->stretches.size(); ++i) {
      const PlanBuilder& each = *made_->stretches[i];
      hash_files(fmt::format("{}stretch/{}: ", where, i), each.stages_, each.columns_, hashes);
    }
  }
  hash_files(where, stages_, columns_, hashes);
}

/// Adds the content of the small files that orders and steps read, and what the source has read of its files for the
/// decoder, such as the names in a header row.
void PlanBuilder::hash_files(const std::string& where, const Stages& stages, const BoundColumns& columns,
                             Hashes& hashes) {
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
void PlanBuilder::hash_branch(const std::string& name, const Program& program, Hashes& hashes) const {
  hash_stretches(name + ": ", hashes);
  const PlanBuilder& first = root();
  const Program& reads = engine::innermost(program);
  for (std::size_t i = 0; i < first.branches_.size(); ++i)
    first.branches_[i]->hash_branch(fmt::format("{}/branch/{}", name, i), reads.branches[i], hashes);
  for (const std::string& file : reads.source.files) hashes.whole = hashes.whole * 31 + fnv1a(file);
  if (first.stages_.decoder_stage || !first.branches_.empty()) return;
  const std::uint64_t rows = fnv1a(columns_text(first.columns_.decoder_schema));
  hashes.whole = hashes.whole * 31 + rows;
  hashes.sections.emplace_back("rows of " + name, rows);
}

/// Signs the attributes of the branches: with the hashes that they have in a document of their own, which then shares
/// what is stored of its files.
void PlanBuilder::sign_branches(Program& program) const {
  for (std::size_t i = 0; i < program.branches.size(); ++i) {
    const PlanBuilder& branch = *branches_[i];
    Json records = Json::object();
    for (const char* const key : {"source", "decode"}) {
      if (const Json* const value = branch.written_.find(key)) records.set(key, *value);
    }
    const FilesPlace where = branch.files_place();
    Hashes hashes = hashes_of(without_files(records, where), where, {}, planning_.registry);
    hash_files("", branch.stages_, branch.columns_, hashes);
    sign_attributes(branch.stages_, hashes.sections, planning_.registry, program.branches[i]);
  }
}

void PlanBuilder::group_outputs() {
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

void PlanBuilder::check_group(const char* key, const std::vector<std::string>& names) {
  const Json* list = json_.find(key);
  if (list == nullptr) return;
  std::vector<std::string> seen;
  for (const Json& item : list->items()) {
    if (!item.is(Json::Kind::string)) continue;  // the top level reports this
    if (!contains(names, item.string()) && !columns_.unknown.contains(item.string())) {
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
  parts_.stages = stages_of(text_of(program), parts_.inputs, parts_.targets);
  return std::move(parts_);
}

/// What the plan is made of, for its description.
PlanText PlanBuilder::text_of(const Program& program) const {
  PlanText out{.program = &program, .stages = &stages_, .branches = {}, .before = {}};
  for (std::size_t i = 0; i < branches_.size(); ++i) out.branches.push_back(branches_[i]->text_of(program.branches[i]));
  if (!made_) return out;
  const Program* made = program.made.get();
  for (std::size_t i = made_->stretches.size(); i-- > 0; made = made->made.get()) {
    const PlanBuilder& each = *made_->stretches[i];
    PlanText before{.program = made, .stages = &each.stages_, .branches = {}, .before = {}};
    for (std::size_t j = 0; j < each.branches_.size(); ++j)
      before.branches.push_back(each.branches_[j]->text_of(made->branches[j]));
    out.before.insert(out.before.begin(), std::move(before));
  }
  return out;
}

}  // namespace forebay::plan
