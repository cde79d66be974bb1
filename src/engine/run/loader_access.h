// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <forebay/loader.h>

#include "engine/index/source_sizes.h"
#include "engine/program/position.h"

namespace forebay {

/// What a saved state needs of a run. Each call is for the thread that calls `next`; all but `shard` and `sizes` fail
/// with Code::state in a forked child.
struct LoaderAccess {
  [[nodiscard]] static Shard shard(const Loader& loader);
  [[nodiscard]] static Result<engine::Position> position(const Loader& loader);
  [[nodiscard]] static Result<engine::Position> position_before(const Loader& loader);
  /// The sizes that the run's files had when it opened them. Those of the other files are asked for in the first call,
  /// and counted until the file is opened.
  [[nodiscard]] static engine::SourceSizes sizes(const Loader& loader);
  /// `sizes`: of the files now, by number.
  [[nodiscard]] static Result<void> restart(Loader& loader, const engine::Position& position,
                                            std::vector<std::int64_t> sizes);
};

}  // namespace forebay
