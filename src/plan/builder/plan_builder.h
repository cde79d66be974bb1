// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/program/plan_access.h"
#include "plan/builder/bound_document.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// Checks a document, a branch of a combination or a stretch of either, and builds its plan, or has all faults
/// together. Lives for one call on the caller's thread.
class PlanBuilder {
 public:
  /// A document or branch as it is written, which must outlive the builder.
  PlanBuilder(const Json& document, const Planning& planning)
      : bound_{.kept = nullptr, .json = document, .written = document, .made = nullptr}, planning_{planning} {}
  /// A stretch of it. `before`: what makes its rows; null: the stretch has the source.
  PlanBuilder(std::shared_ptr<const Json> stretch, const Json& written, const Planning& planning,
              std::shared_ptr<const MadeSource> before)
      : bound_{.kept = stretch, .json = *stretch, .written = written, .made = std::move(before)}, planning_{planning} {}

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
  /// What is bound; the builder is not used any more.
  [[nodiscard]] BoundDocument bound() && { return std::move(bound_); }
  /// The source whose rows `program` makes. `program` is what run_rows gave.
  [[nodiscard]] Source source_of_rows(const std::shared_ptr<const engine::Program>& program) const;

 private:
  void bind_stages(DocumentKind kind);
  void bind_rows();
  void bind_source();
  void group_outputs();
  void check_group(const char* key, const std::vector<std::string>& names);
  [[nodiscard]] Schema every_column() const;
  [[nodiscard]] std::optional<engine::Taking> taking() const;
  [[nodiscard]] engine::Program assemble();
  [[nodiscard]] engine::Program program_of_rows();
  void deliver_rows();
  void mark_batches(const std::string& batch_end);
  [[nodiscard]] PlanAccess::Parts describe_parts(const engine::Program& program);

  BoundDocument bound_;
  const Planning planning_;
  Faults faults_;
  std::string batch_end_;     // of a stretch that marks its batches
  bool leaves_rows_ = false;  // as of bind_branches
  PlanAccess::Parts parts_;
};

}  // namespace forebay::plan
