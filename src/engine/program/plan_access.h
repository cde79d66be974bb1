// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <forebay/plan.h>

#include "engine/program/program.h"

namespace forebay {

namespace engine {

/// Where a document or branch lists its data files: in an option of its source, which lists the branches where the
/// source is a combination.
struct FilesPlace {
  std::string plugin;
  std::string option;                ///< Empty: the source has no files.
  std::vector<FilesPlace> branches;  ///< Of a combination.
};

}  // namespace engine

/// What a plan tells about itself, and the program that the engine runs. Made by the planner, never changed.
struct Plan::Parts {
  std::vector<ColumnSpec> outputs;
  std::vector<std::string> inputs;
  std::vector<std::string> targets;
  Json without_files;        ///< The pipeline document; its lists of data files are empty.
  engine::FilesPlace files;  ///< Where those stand.
  std::string folder;        ///< The folder that was the current one when the plan was made.
  std::optional<std::int64_t> batches;
  std::uint64_t hash = 0;
  std::vector<std::pair<std::string, std::uint64_t>> sections;  ///< The parts that decide the stream, with hashes.
  std::vector<PlanStage> stages;
  std::shared_ptr<const engine::Program> program;
};

/// The way into a plan for the planner, the engine and tests; users of the library see `Plan` alone.
struct PlanAccess {
  using Parts = Plan::Parts;
  [[nodiscard]] static Plan make(std::shared_ptr<const Parts> parts) { return Plan{std::move(parts)}; }
  [[nodiscard]] static const Parts& parts(const Plan& plan) { return *plan.parts_; }
};

namespace engine {

/// The program lives as long as a copy of the plan.
[[nodiscard]] inline const Program& program_of(const Plan& plan) { return *PlanAccess::parts(plan).program; }
[[nodiscard]] inline std::shared_ptr<const Program> share_program(const Plan& plan) {
  return PlanAccess::parts(plan).program;
}

/// The plan, whose runs keep what tells their rows apart, also where no step draws.
[[nodiscard]] inline Plan telling_rows(const Plan& plan) {
  auto parts = std::make_shared<PlanAccess::Parts>(PlanAccess::parts(plan));
  auto program = std::make_shared<Program>(*parts->program);
  program->identity = program->telling;
  parts->program = std::move(program);
  return PlanAccess::make(std::move(parts));
}

}  // namespace engine
}  // namespace forebay
