// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <forebay/error.h>

#include "engine/program/program.h"

/// Shards of whole files (docs/adr/0007). A run of such a shard is the run of a derived program, which reads the files
/// of the shard and cuts batches of the shard's size. No other part of the engine treats these shards specially.
namespace forebay::engine {

/// Fails with Code::config when the files, the batches or the orders of the program cannot be shared so.
[[nodiscard]] Result<void> check_file_shard(const Program& program, std::int64_t count);

/// The program of shard `index` of `count`; `check_file_shard` must have passed. The result has state, the counts of
/// the present pass, so it is for one run only.
[[nodiscard]] std::shared_ptr<const Program> file_shard(const Program& program, std::int64_t index, std::int64_t count);

}  // namespace forebay::engine
