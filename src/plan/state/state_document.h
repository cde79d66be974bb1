// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <forebay/json.h>

#include "engine/index/source_sizes.h"
#include "engine/program/position.h"

/// The form of a state document: JSON with a version and a checksum.
namespace forebay::plan {

/// The parts of a plan and their hashes, by name. Those of branches are named "branch/0", "branch/1", …, with hashes of
/// `branch_digits`.
using PlanParts = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::string_view branch_prefix = "branch/";
inline constexpr std::size_t branch_digits = 6;
[[nodiscard]] inline std::string branch_part(std::size_t branch) {
  return std::string{branch_prefix} + std::to_string(branch);
}

/// The content of a state document.
struct State {
  std::vector<engine::Section> sections;
  engine::SourceSizes data;
  PlanParts plan;
};

/// The document. Fails with Code::state, resource_exhausted, when the texts of the sections exceed what a state may
/// have.
[[nodiscard]] Result<Json> document_of(const State& state);
/// The inverse. Fails with Code::state for a document of another version (failed_precondition), one that is no state
/// (invalid_argument), and one that is corrupt (data_loss).
[[nodiscard]] Result<State> read_document(const Json& json);

/// The member "sections", and back. `read_sections` fails with Code::state, data_loss.
[[nodiscard]] Json sections_json(const std::vector<engine::Section>& sections);
[[nodiscard]] Result<std::vector<engine::Section>> read_sections(const Json& state);

/// An error of a state.
[[nodiscard]] inline Error refused(Detail detail, std::string message) {
  return {Code::state, detail, std::move(message)};
}

}  // namespace forebay::plan
