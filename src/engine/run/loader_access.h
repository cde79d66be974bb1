// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  [[nodiscard]] static engine::SourceSizes sizes(const Loader& loader);
  [[nodiscard]] static Result<void> restart(Loader& loader, const engine::Position& position,
                                            const engine::SourceSizes& sizes);
};

}  // namespace forebay
