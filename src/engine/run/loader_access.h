// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/loader.h>

#include "engine/index/source_sizes.h"
#include "engine/program/position.h"

namespace forebay {

/// What saved states and epochs need of a run. Each call is for the thread that calls `next`; those that return a
/// Result fail with Code::state in a forked child.
struct LoaderAccess {
  /// Of the present run; null in plans without states.
  [[nodiscard]] static std::shared_ptr<States> states(const Loader& loader);
  [[nodiscard]] static Shard shard(const Loader& loader);
  [[nodiscard]] static Result<engine::Position> position(const Loader& loader);  ///< After the last batch taken.
  /// From now on only batches of this epoch and later ones are given; the run stands before the first of them.
  [[nodiscard]] static Result<void> skip_to(Loader& loader, std::int64_t epoch);
  /// Where the run stands before a batch, or anywhere before that.
  using PlaceOf = std::function<engine::Position(std::int64_t batch)>;
  /// Goes through the order from `place_of` on up to the last batch of this process before batch `number`, which is
  /// made and dropped. `stop` is asked now and then; true ends it with Code::cancelled. Fails with Code::config when
  /// the run ends before.
  [[nodiscard]] static Result<void> go_through(Loader& loader, std::int64_t number, const PlaceOf& place_of,
                                               const std::function<bool()>& stop);
  static void end_epoch(Loader& loader);  ///< The epoch that the run is in has no more batches.
  /// The sizes that the run's files had when it opened them. Those of the other files are asked for in the first call,
  /// and counted until the file is opened.
  [[nodiscard]] static engine::SourceSizes sizes(const Loader& loader);
  /// The plan as the loader was started with it, without what restarts have changed, for a run that begins now: files
  /// are found anew when the loader was restored before, or a batch was taken.
  [[nodiscard]] static Plan to_restore(const Loader& loader);
  /// `sizes`: of the files now, by number. `plan`: how the run goes on, when a restart has changed it or an earlier
  /// one.
  [[nodiscard]] static Result<void> restart(Loader& loader, const engine::Position& position,
                                            std::vector<std::int64_t> sizes, std::string notice,
                                            std::optional<Plan> plan = {});
};

}  // namespace forebay
