// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/plan.h>

#include "engine/program/position.h"
#include "engine/program/program.h"

/// Restarts that change a combination: its weights, when its passes end, or the number of its branches
/// (docs/combine.md, ADR 0073).
namespace forebay::plan {

/// The differences from the run of a state with which a restart goes on.
struct Accepted {
  bool weights = false;
  bool until = false;
  bool branches = false;  ///< More branches, behind those of the state.

  /// Of the words "weights", "until" and "branches". Fails with Code::config for another one.
  [[nodiscard]] static Result<Accepted> of(std::span<const std::string> words);
};

/// What a combination was in a run, up to a row.
struct Change {
  engine::MixedPlace until;
  std::size_t branches = 0;
  std::string options;  ///< EarlierCombining::changing
  bool operator==(const Change&) const = default;
};

/// The combination of the run that saved a state: sections "mixture", and "mixture/0", … for what it was before.
struct Mixture {
  std::size_t branches = 0;
  std::string options;
  std::vector<Change> earlier;
};

/// The parts of a plan that options of a mixture are, in a state. They have the names of the options.
inline constexpr std::string_view weights_part = "weights";
inline constexpr std::string_view until_part = "until";

/// The number of the branch that a part of a plan is named after; empty: it is no part of a branch.
[[nodiscard]] std::optional<std::size_t> branch_of(std::string_view part);
/// Whether a section of a state is one of those of its combination. They have texts.
[[nodiscard]] bool is_mixture(std::string_view stage);

/// Restarts that a run can have been changed by.
inline constexpr std::size_t max_changes = 64;

/// Adds the sections of the combination of a program that takes turns.
void add_mixture(const engine::Program& program, std::vector<engine::Section>& out);
/// Removes those sections. Empty: there are none. Fails with Code::state, data_loss, for sections that no run writes.
[[nodiscard]] Result<std::optional<Mixture>> take_mixture(std::vector<engine::Section>& sections);

/// The combination of a state, a position in it, and the parts of the plan that differ now.
struct Difference {
  const std::optional<Mixture>& mixture;
  const engine::Position& at;
  const std::vector<std::string>& parts;
  bool told = false;  ///< `at` tells the last pass about which the run has decided.
};

/// The plan as a run goes on with it from a state: it knows what its combination was before. Fails with Code::state
/// where the plans differ otherwise, or in something that is not accepted.
[[nodiscard]] Result<Plan> go_on_with(const Plan& plan, const Shard& shard, const Difference& found,
                                      const Accepted& accepted);

}  // namespace forebay::plan
