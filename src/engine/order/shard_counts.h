// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace forebay::engine {

/// The message of an error: batches of `rows` rows cannot be divided among `count` shards. Lists up to 40 numbers of
/// shards that divide `rows`.
[[nodiscard]] std::string shard_misfit(std::int64_t rows, std::int64_t count);

}  // namespace forebay::engine
