// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/requests/known_versions.h"
#include "plan/bind/bound_columns.h"
#include "plan/bind/stages.h"
#include "plan/builder/build.h"
#include "plan/canonical.h"
#include "plan/document/branch_document.h"
#include "plan/document/pipeline_document.h"

namespace forebay::plan {

/// The context and the plug-ins of planning, the same for all branches of a document.
struct Planning {
  const BindContext& context;
  const Registry& registry;
  std::shared_ptr<engine::KnownVersions> known;  ///< As of with_files.
  std::optional<FileChecks> checks = {};
  std::deque<Json>& moved;  ///< Documents with moved steps; they outlive the builders.
};

struct BoundDocument;

/// The rows that come out of one stretch of the steps of a document, or of several, one behind the other. They are made
/// for the stages after them (made_rows.h).
struct MadeSource {
  std::vector<std::shared_ptr<const BoundDocument>> stretches;
  std::shared_ptr<const engine::Program> program;  ///< Of the last stretch.
  Source source;                                   ///< Of what comes after it.
};

/// The branches of a combination, and what it makes of their rows.
struct BoundBranches {
  std::vector<std::unique_ptr<BoundDocument>> each;  ///< Empty: there is no combination.
  Combining combining;
  std::function<Result<Combining>(const std::string&, std::size_t)> bind_again;  ///< Program::bind_again
  bool equal_files = false;                                                      ///< Program::equal_files
  std::optional<RowSource> rows;  ///< Only its schema: what the steps after the combination get.
  std::vector<engine::MergedColumn> merged;
};

enum class Combines : std::uint8_t { nothing, is_branch, branches };  ///< What a document has to do with a combination.

/// A document, a branch of a combination or a stretch of either, and what its parts are bound to.
struct BoundDocument {
  std::shared_ptr<const Json> kept;  ///< Owns `json`. Null: the caller does.
  const Json& json;
  const Json& written;  ///< The document or branch of which `json` is a stretch; else the same.
  std::shared_ptr<const MadeSource>
      made;  ///< The rows are made by the stretches before this one. Null: it has a source.
  PipelineDocument document = {};
  std::optional<BranchDocument> branch = {};  ///< Of a branch.
  Stages stages = {};
  Source source = {};           ///< Of a combination: the files of all branches.
  FilesPlace files_place = {};  ///< Without the branches.
  BoundColumns columns = {};
  std::optional<std::vector<engine::MarkedFrames>> marked = {};  ///< Program::marks_batches
  BoundBranches branches = {};

  [[nodiscard]] Combines combines() const {
    return branch ? Combines::is_branch : branches.each.empty() ? Combines::nothing : Combines::branches;
  }
  /// What has bound the source: this document, or its first stretch.
  [[nodiscard]] const BoundDocument& root() const { return made ? *made->stretches.front() : *this; }
  /// The stages of the document, those of the stretches before it first.
  [[nodiscard]] std::vector<const Stages*> all_stages() const;
  /// Adds those of the branches of a combination, and of their branches.
  void add_stages_inside(std::vector<const Stages*>& out) const;
};

}  // namespace forebay::plan
