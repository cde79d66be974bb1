// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <forebay/json.h>
#include <forebay/plan.h>

#include "engine/index/source_sizes.h"
#include "engine/program/position.h"

/// A position as JSON that can be kept: docs/formats/state.md.
namespace forebay::plan {

/// The newest form that this version writes and reads.
inline constexpr std::int64_t state_version = 2;

/// A larger file is no state.
inline constexpr std::int64_t max_state_bytes = std::int64_t{16} << 20;

/// `sizes` are those that the run began with. Fails with Code::state when the plan's order depends on timing.
[[nodiscard]] Result<Json> write_state(const Plan& plan, const engine::Shard& shard, const engine::SourceSizes& sizes,
                                       const engine::Position& position);

/// `sizes` are those of now. Fails with Code::state when it is no state (invalid_argument), corrupt or edited
/// (data_loss), newer than this version, or of another plan, other files or other shards by file (failed_precondition).
[[nodiscard]] Result<engine::Position> read_state(const Plan& plan, const engine::Shard& shard,
                                                  const engine::SourceSizes& sizes, const Json& state);

/// The state in a file or a message. Fails with Code::state, data_loss, for what is no JSON or more than 16 MiB.
[[nodiscard]] Result<Json> parse_state(std::string_view text);

/// A state in words, without its plan. Fails like `read_state`, but for what needs the plan.
[[nodiscard]] Result<std::string> state_text(const Json& state);

}  // namespace forebay::plan
