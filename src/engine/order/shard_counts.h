// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/program.h"

namespace forebay::engine {

/// The message of an error: batches of `rows` rows cannot be divided among `count` shards. Lists up to 40 numbers of
/// shards that divide `rows`.
[[nodiscard]] std::string shard_misfit(std::int64_t rows, std::int64_t count);

/// Whether the attributes of a file tell how many of its records come through these orders: no order before the last
/// filter changes which records there are.
[[nodiscard]] bool countable(const std::vector<Ordering>& record_orders);
/// The attributes of all filters of such a program.
[[nodiscard]] std::vector<std::size_t> counted_filters(const Program& program);
/// The number of records that come through orders of records, when the filters among them keep `kept`; empty when an
/// order cannot say.
[[nodiscard]] std::optional<std::int64_t> count_after_filters(const std::vector<Ordering>& record_orders,
                                                              std::int64_t kept);

/// The message of an error: a shard by file of a program that is not countable.
inline constexpr std::string_view filtered_file_shard =
    "an order before a filter leaves out or repeats records, so it is not known before how many the filter keeps of "
    "each file, and shards by file cannot get the same number of batches; put the filter first, or shard by rows";

}  // namespace forebay::engine
