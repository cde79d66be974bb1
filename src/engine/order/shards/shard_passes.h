// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <forebay/function.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/sync.h"
#include "engine/order/open_parts.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Counts the batches that a pass of each shard by file has, where no arithmetic tells: it goes through the order of
/// the pass for every shard, without decoding (ADR 0068). A thread of its own does so while the run goes on.
///
///     order of the run     ask(pass) ─► nothing yet … ─────────────► batches of shard 0, 1, …
///     thread of this       pass of shard 0 ─► pass of shard 1 ─► …
///
/// Any thread may call.
class ShardPasses {
 public:
  /// `shards`: by number of the shard, the program of its files, in hard epochs. `memory`: bytes, for what is read.
  ShardPasses(std::vector<std::shared_ptr<const Program>> shards, std::int64_t memory, RunMeans means);
  ~ShardPasses();
  ShardPasses(const ShardPasses&) = delete;
  ShardPasses& operator=(const ShardPasses&) = delete;

  /// Asked with the number of a pass, it answers with the batches of each shard. An empty answer means that they could
  /// not be counted; `failure` says why.
  [[nodiscard]] const Function& function() const { return function_; }
  [[nodiscard]] Error failure() const EXCLUDES(mutex_);
  void start() EXCLUDES(mutex_);  ///< Starts the thread, unless it runs.
  void stop() EXCLUDES(mutex_);   ///< Ends the thread, for good.

 private:
  void answer() EXCLUDES(mutex_);
  Result<std::vector<std::int64_t>> count(std::int64_t pass);
  Result<std::int64_t> batches(std::size_t shard, std::int64_t pass);
  Result<std::int64_t> walk(const Program& shard, std::int64_t first, std::int64_t pass) EXCLUDES(mutex_);
  void wake() EXCLUDES(mutex_);
  bool wait() EXCLUDES(mutex_);

  const std::vector<std::shared_ptr<const Program>> shards_;
  const std::int64_t memory_;
  const RunMeans means_;
  const Function function_;
  mutable Mutex mutex_;
  Condition changed_;
  std::thread thread_ GUARDED_BY(mutex_);
  std::shared_ptr<OpenParts> open_ GUARDED_BY(mutex_);  // what the thread reads now
  bool awake_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  // By shard, where a pass goes on where the one before ended: the last pass that was counted, and the batches of all
  // passes up to it. Used by the thread only.
  std::vector<std::pair<std::int64_t, std::int64_t>> up_to_;
};

}  // namespace forebay::engine
