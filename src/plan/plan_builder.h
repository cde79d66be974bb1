// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/plan_access.h"
#include "plan/bind/bound_columns.h"
#include "plan/bind/checks.h"
#include "plan/bind/stages.h"
#include "plan/branch_batches.h"
#include "plan/build.h"
#include "plan/canonical.h"
#include "plan/document/branch_document.h"
#include "plan/document/merged_columns.h"
#include "plan/made_source.h"
#include "plan/text.h"

namespace forebay::plan {

class PlanBuilder;

/// What a builder plans by: the same for the branches of a document.
struct Planning {
  const BindContext& context;
  const Registry& registry;
  std::optional<FileChecks> checks = {};
  std::deque<Json>& moved;  ///< Documents with moved steps; they outlive the builders.
};

/// Checks a document, a branch of a combination or a stretch of either, and builds its plan, or has all faults
/// together. Lives for one call on the caller's thread.
class PlanBuilder {
 public:
  /// A document or branch as it is written, which must outlive the builder.
  PlanBuilder(const Json& document, const Planning& planning)
      : kept_{nullptr}, json_{document}, written_{document}, planning_{planning} {}
  /// A stretch of it. `before`: what makes its rows; null: the stretch has the source.
  PlanBuilder(std::shared_ptr<const Json> stretch, const Json& written, const Planning& planning,
              std::shared_ptr<const MadeSource> before)
      : kept_{std::move(stretch)}, json_{*kept_}, written_{written}, planning_{planning}, made_{std::move(before)} {}

  /// Binds a branch of a combination. `whole`: the document around it, with the seed of the branch.
  void bind_branch(const PipelineDocument& whole);
  /// Plans a document, or the last stretch of one.
  [[nodiscard]] std::optional<Plan> run();
  /// Plans the rows of a stretch, which makes batches as made_rows.h wants them. `document`: what is said around it.
  /// `batch_end`: its batches are those of the plan around it, and this is the name of the tensor that says where they
  /// end (Program::marks_batches); empty: they are not.
  [[nodiscard]] std::shared_ptr<const engine::Program> run_rows(const PipelineDocument& document,
                                                                const std::string& batch_end);
  [[nodiscard]] const Faults& faults() const { return faults_; }
  void tell(Faults faults) { faults_ = std::move(faults); }  ///< These faults instead.
  /// The source whose rows `program` makes. `program` is what run_rows gave.
  [[nodiscard]] Source source_of_rows(const std::shared_ptr<const engine::Program>& program) const;

 private:
  [[nodiscard]] BoundDocument bound() const;
  void bind_stages(DocumentKind kind);
  void bind_rows();
  void bind_branches();
  void add_stages_inside(std::vector<const Stages*>& out) const;
  [[nodiscard]] std::string_view instead_of_skips(const PlanBuilder& branch) const;
  void check_sides();
  void check_batches_of_side(const PlanBuilder& branch);
  void merge_branches(const Json& options);
  void project_branches();
  [[nodiscard]] std::vector<engine::Program> assemble_branches();
  void bind_source();
  void group_outputs();
  void check_group(const char* key, const std::vector<std::string>& names);
  [[nodiscard]] Schema every_column() const;
  [[nodiscard]] std::optional<engine::Taking> taking() const;
  [[nodiscard]] engine::Program assemble();
  [[nodiscard]] engine::Program program_of_rows();
  void deliver_rows();
  void mark_batches(const std::string& batch_end);
  [[nodiscard]] std::vector<const Stages*> all_stages() const;
  /// The builder that has bound the source: this one, or that of the first stretch.
  [[nodiscard]] const PlanBuilder& root() const { return made_ ? *made_->stretches.front() : *this; }

  // plan_hash.cc, with group_outputs
  [[nodiscard]] std::uint64_t hash(const engine::Program& program);
  [[nodiscard]] FilesPlace files_place() const;
  void hash_stretches(const std::string& where, Hashes& hashes) const;
  static void hash_files(const std::string& where, const Stages& stages, const BoundColumns& columns, Hashes& hashes);
  void hash_branch(const std::string& name, const engine::Program& program, Hashes& hashes) const;
  void sign_branches(engine::Program& program) const;
  [[nodiscard]] PlanAccess::Parts describe_parts(const engine::Program& program);
  [[nodiscard]] PlanText text_of(const engine::Program& program) const;

  const std::shared_ptr<const Json> kept_;  // of a stretch
  const Json& json_;
  const Json& written_;  // the document or branch of which `json_` is a stretch; else the same
  const Planning planning_;
  const std::shared_ptr<const MadeSource> made_;
  Faults faults_;
  PipelineDocument document_;
  Stages stages_;
  Source source_;           // of a combination: the files of all branches
  FilesPlace files_place_;  // without the branches
  BoundColumns columns_;
  // Of a branch.
  std::optional<BranchDocument> branch_;
  // Of a combination.
  std::vector<std::unique_ptr<PlanBuilder>> branches_;
  Combining combining_;
  std::function<Result<Combining>(const std::string&, std::size_t)> bind_again_;  // Program::bind_again
  bool equal_files_ = false;                                                      // Program::equal_files
  const bool takes_batches_ = takes_batches(written_, planning_.registry);
  std::string batch_end_;                                         // of a stretch that marks its batches
  std::optional<std::vector<engine::MarkedFrames>> marked_ = {};  // Program::marks_batches
  bool leaves_rows_ = false;  // rows are made, so one whose record is skipped in a branch can leave all of them
  std::optional<RowSource> merged_rows_;  // only its schema: what the steps after the combination get
  std::vector<engine::MergedColumn> merged_;
  PlanAccess::Parts parts_;
};

}  // namespace forebay::plan
