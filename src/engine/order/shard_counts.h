// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace forebay::engine {

/// The message of an error: batches of `rows` rows cannot be divided among `count` shards. Lists up to 40 numbers of
/// shards that divide `rows`.
[[nodiscard]] std::string shard_misfit(std::int64_t rows, std::int64_t count);

/// The message of an error: a shard by file of a program with attributes.
inline constexpr std::string_view filtered_file_shard =
    "a filter decides about records when they are read, so it is not known before how many each file gives, and shards "
    "by "
    "file cannot get the same number of batches; shard by rows";

/// The message of an error: a shard by file of a program with branches.
inline constexpr std::string_view combined_file_shard =
    "a combination decides about the rows of all its branches together, so their files cannot be shared out; shard by "
    "rows";

}  // namespace forebay::engine
