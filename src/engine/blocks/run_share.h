// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/sync.h"
#include "engine/program/position.h"
#include "engine/program/run_means.h"
#include "engine/read/block.h"

namespace forebay::engine {

/// What a run lends to a reader of rows that is a run itself (made_rows.h): its budget and its threads. And what that
/// reader tells: what it has read.
struct RunShare {
  RunShare(std::shared_ptr<BufferPool> of_run, RunMeans of_readers)
      : pool{std::move(of_run)}, means{std::move(of_readers)} {}

  const std::shared_ptr<BufferPool> pool;
  const RunMeans means;

  /// What was read of data, by all readers of the run.
  struct Counts {
    std::int64_t bytes_read = 0;
    SkipCounts skipped = {};
  };
  /// For any thread.
  [[nodiscard]] Counts counts() const EXCLUDES(mutex) {
    const Lock lock{mutex};
    return read;
  }

  /// Position::mixed of the run that made the rows of a pass before this one.
  struct Made {
    std::int64_t before = 0;
    MixedPlace mixed = {};
  };

  /// For the order plane: what one reader leaves to the next one, what the reader has said of its blocks, in their
  /// order, and lines for people.
  std::shared_ptr<void> kept = {};
  std::deque<Made> made = {};
  std::function<void(std::string)> note = {};

  mutable Mutex mutex;
  Counts read GUARDED_BY(mutex);
};

}  // namespace forebay::engine
