// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <forebay/error.h>
#include <forebay/order.h>

#include "engine/program/program.h"

/// The files of one shard by file. Shard i of n has files i, i + n, … of each pass, after the orders of files.
namespace forebay::engine {

/// Called in each pass with the files of all shards, before the shard reads one. An error is that of the pass.
using AllFiles = std::function<Result<void>(std::span<const Handle> files, Reader& reader)>;

/// A program of one source, with the files of shard `index` of `count` alone. A pass with fewer files than shards fails
/// with Code::config.
[[nodiscard]] Program with_own_files(const Program& program, std::int64_t index, std::int64_t count, AllFiles all = {});

/// Any program with the files of shard `index` of `count` alone. Of a combination, those of each branch; of rows that
/// are made, those made of the shard's files. Where branches lie side by side, a pass in which their files have unlike
/// numbers of records fails with Code::config. The result is for one run.
[[nodiscard]] Program own_files(const Program& program, std::int64_t index, std::int64_t count);

/// Fails with Code::config when a source of the program has fewer files than there are shards, or when the rows that
/// lie side by side in a combination would not be those of the whole run.
[[nodiscard]] Result<void> check_own_files(const Program& program, std::int64_t count);

}  // namespace forebay::engine
