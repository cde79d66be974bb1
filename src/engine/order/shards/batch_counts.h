// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "engine/order/shards/pass_counts.h"
#include "engine/program/program.h"

/// The number of batches of a run, from what is stored about its files.
namespace forebay::engine {

/// What is counted, and where.
struct BatchCount {
  std::optional<std::int64_t>
      epochs;  ///< Only those of the first epochs; else those of the run, or of one epoch if endless.
  CountLimits limits = {};
};

/// Number of batches of a run of this shard. Reads the stored indexes; rows in memory are counted. Empty when they do
/// not tell, for example when a file has no stored index, an order has no count, or records may be skipped; also for a
/// shard of whole files.
[[nodiscard]] std::optional<std::int64_t> batches_by_index(const Program& program, const Shard& shard,
                                                           const BatchCount& what = {});

/// Whether the indexes and attributes of all files would tell that number.
[[nodiscard]] bool counted_by_index(const Program& program, const Shard& shard);

}  // namespace forebay::engine
