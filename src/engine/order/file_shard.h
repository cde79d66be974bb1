// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <forebay/error.h>

#include "engine/program/program.h"

/// Shards of whole files (docs/adr/0007): a run of such a shard is the run of another program, over its files and in
/// batches of its size. Nothing else in the engine knows about it.
namespace forebay::engine {

/// Fails with Code::config when the files, the batches or the orders of the program cannot be shared so.
[[nodiscard]] Result<void> check_file_shard(const Program& program, std::int64_t count);

/// What shard `index` of `count` runs, for one run: the program keeps what it knows of the present pass.
[[nodiscard]] std::shared_ptr<const Program> file_shard(const Program& program, std::int64_t index, std::int64_t count);

/// How many batches a run of this shard has, or an epoch of an endless one: where every file has a stored index and
/// every order can say how many records it gives.
[[nodiscard]] std::optional<std::int64_t> batches_by_index(const Program& program, const Shard& shard);

}  // namespace forebay::engine
