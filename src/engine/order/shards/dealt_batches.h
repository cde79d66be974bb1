// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <forebay/batcher.h>

/// Shards by element of batches that have no fixed number of rows, such as those limited by frames.
namespace forebay::engine {

/// Rows of a batch that has no others: rows of spans are made of one at least.
[[nodiscard]] std::int64_t empty_rows(const Batching& batching);
/// Whether such batches can be dealt: a restart knows what their batcher holds, and it asks nobody and numbers nothing.
[[nodiscard]] bool can_be_dealt(const Batching& batching);

/// The most shards: the state holds what the batchers of all of them hold.
[[nodiscard]] std::int64_t max_shards(const Batching& batching);

/// The batcher of shard `index` of `count`. Every shard cuts the batches of all shards, and gives its own:
///
///                    ╭─► batcher of shard 0 ─► batches that wait ─╮
///     element i ─────┼─► batcher of shard 1 ─► batches that wait ─┼─► batch k, once every shard has its batch k
///     (to i mod 3)   ╰─► batcher of shard 2 ─► batches that wait ─╯
///
/// At the end of the stream a shard without a batch k gives one without rows, or of an empty row where rows are made
/// of spans, as long as another shard has one: all have as many batches, and no element is left out.
[[nodiscard]] std::unique_ptr<Batcher> dealt_batches(const Batching& batching, const BatcherContext& context,
                                                     std::int64_t index, std::int64_t count);

}  // namespace forebay::engine
