// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/error.h>
#include <forebay/run_options.h>

#include "engine/program/program.h"

namespace forebay::engine {

/// The shard of options that are resolved. A single shard takes everything, whatever it is by.
[[nodiscard]] Shard shard_of(const RunOptions& options);

/// Fills in the document's shard where the options have none, and turns a shard by batch into the one beside a shard.
/// Fails with Code::config when there are two shards by batch, or when the batches of the program cannot be shared so.
[[nodiscard]] Result<void> resolve_shard(const Program& program, RunOptions& options);

}  // namespace forebay::engine
