// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace forebay::engine {

/// Why batches of so many rows cannot be divided among `count` shards, with the counts that fit.
[[nodiscard]] std::string shard_misfit(std::int64_t rows, std::int64_t count);

}  // namespace forebay::engine
