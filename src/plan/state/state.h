// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <forebay/json.h>
#include <forebay/plan.h>
#include <forebay/state.h>

#include "engine/index/source_sizes.h"
#include "engine/program/position.h"
#include "plan/state/changes.h"

/// A position of a loader as JSON; docs/formats/state.md describes the form.
namespace forebay::plan {

/// The only form that this version writes and reads.
inline constexpr std::int64_t state_version = 4;

/// `sizes` are those that the run began with. Fails with Code::state when the plan's order depends on timing.
[[nodiscard]] Result<Json> write_state(const Plan& plan, const Shard& shard, const engine::SourceSizes& sizes,
                                       const engine::Position& position);

/// How a run goes on from a state.
struct Restart {
  engine::Position at;
  Plan plan;                ///< With what earlier restarts and this one have changed.
  std::string notice = {};  ///< When a change holds later than the next row.
};

/// `sizes` are those of the files now, by number. Fails with Code::state when it is no state (invalid_argument),
/// corrupt or edited (data_loss), of another version, or of another plan, other files or other shards by file
/// (failed_precondition), as far as that is not accepted.
[[nodiscard]] Result<Restart> read_state(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes,
                                         const Json& state, const Accepted& accepted);

/// Fails with Code::state when the rows of the run cannot be read again.
[[nodiscard]] Result<void> check_replay(const engine::Program& program);

/// The same of one state, or of a list of the states that all shards by row have saved after the same batch. Fails,
/// too, when they lack states of sequences that this shard has.
[[nodiscard]] Result<Restart> read_states(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes,
                                          const Json& states, const Accepted& accepted);

}  // namespace forebay::plan
