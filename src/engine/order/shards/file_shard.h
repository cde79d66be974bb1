// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <forebay/error.h>
#include <forebay/run_options.h>

#include "engine/order/shards/shard_passes.h"
#include "engine/program/program.h"

/// Shards of whole files (docs/adr/0007, 0068). A run of such a shard is the run of a derived program, which reads the
/// files of the shard and cuts batches of the shard's size. No other part of the engine treats these shards specially.
namespace forebay::engine {

/// Fails with Code::config when the files, the batches or the orders of the program cannot be shared so.
[[nodiscard]] Result<void> check_file_shard(const Program& program, std::int64_t count);

/// The run of one shard.
struct FileShard {
  static constexpr std::int64_t part_for_passes = 4;  ///< `passes` takes one part of so many of the budget.

  std::shared_ptr<const Program> program;
  /// Counts the batches of all shards; the run stops it when it is closed. Null where the records of files tell them.
  std::shared_ptr<ShardPasses> passes = {};
};

/// Shard `index` of `count`; `check_file_shard` must have passed. The result has state, the counts of the present pass,
/// so it is for one run only.
[[nodiscard]] FileShard file_shard(const Program& program, std::int64_t index, std::int64_t count,
                                   const RunOptions& options);

}  // namespace forebay::engine
