// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/batch_counts.h"

#include "engine/order/shards/element_shard.h"
#include "engine/order/shards/shard_counts.h"

namespace forebay::engine {

namespace {

/// The rows of the first `passes` passes together.
std::optional<std::int64_t> rows_of(PassCounts& counts, std::int64_t passes) {
  std::int64_t rows = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const auto next = counts.next();
    if (!next || __builtin_add_overflow(rows, *next, &rows)) return std::nullopt;
    if (!counts.alike()) continue;
    return __builtin_mul_overflow(*next, passes, &rows) ? std::nullopt : std::optional{rows};
  }
  return rows;
}

/// The batches of so many passes, each of which has batches of its own.
std::optional<std::int64_t> batches_of_passes(const Program& program, PassCounts& counts, std::int64_t passes) {
  std::int64_t all = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const auto rows = counts.next();
    auto batches = rows ? program.batching.batches(*rows) : std::nullopt;
    if (batches) batches = count_after(program.batch_orders, *batches);
    if (!batches || __builtin_add_overflow(all, *batches, &all)) return std::nullopt;
    if (!counts.alike()) continue;
    return __builtin_mul_overflow(*batches, passes, &all) ? std::nullopt : std::optional{all};
  }
  return all;
}

/// The batches of a run of `epochs` epochs.
std::optional<std::int64_t> batches_of_run(const Program& program, PassCounts& counts, std::int64_t epochs) {
  if (program.hard_epochs) return batches_of_passes(program, counts, epochs);
  const auto rows = rows_of(counts, epochs);
  const auto batches = rows ? program.batching.batches(*rows) : std::nullopt;
  return batches ? count_after(program.batch_orders, *batches) : std::nullopt;
}

/// The batches of the first epochs: where batches straddle epochs, those whose first row is of them.
std::optional<std::int64_t> batches_of_first(const Program& program, PassCounts& counts, std::int64_t epochs) {
  if (program.epochs && epochs >= *program.epochs) return batches_of_run(program, counts, *program.epochs);
  if (program.hard_epochs) return batches_of_passes(program, counts, epochs);
  const auto size = program.batching.max_rows;
  if (!size || *size < 1 || !program.batch_orders.empty()) return std::nullopt;
  const auto rows = rows_of(counts, epochs);
  return rows ? std::optional{batches_for(*rows, *size)} : std::nullopt;
}

bool by_element(const Shard& shard) { return shard.by == ShardBy::element && shard.count > 1; }
Shard dealt(const Shard& shard) { return {.batch_index = shard.batch_index, .batch_count = shard.batch_count}; }

}  // namespace

bool counted_by_index(const Program& program, const Shard& shard) {
  const bool shared = shard.by == ShardBy::file && shard.count > 1;  // passes may have different numbers of batches
  if (by_element(shard)) {
    return check_element_shard(program, shard.count).ok() &&
           counted_by_index(*element_shard(program, shard.index, shard.count), dealt(shard));
  }
  if (shared || !program.batching.batches || !program.batching.batches(0)) return false;
  return counted_by_index(program);
}

std::optional<std::int64_t> batches_by_index(const Program& program, const Shard& shard, const BatchCount& what) {
  if (!counted_by_index(program, shard)) return std::nullopt;
  if (by_element(shard)) return batches_by_index(*element_shard(program, shard.index, shard.count), dealt(shard), what);
  PassCounts counts{program, what.limits};
  const auto batches = what.epochs ? batches_of_first(program, counts, *what.epochs)
                                   : batches_of_run(program, counts, program.epochs.value_or(1));
  if (!batches) return std::nullopt;
  return *batches / shard.batch_count + (shard.batch_index < *batches % shard.batch_count ? 1 : 0);
}

}  // namespace forebay::engine
