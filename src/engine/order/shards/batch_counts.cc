// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/batch_counts.h"

#include <algorithm>

#include "engine/index/index_parallel.h"
#include "engine/index/made_index.h"
#include "engine/order/shards/element_shard.h"
#include "engine/order/shards/shard_counts.h"

namespace forebay::engine {

namespace {

/// The records of all files that the filters keep, by their stored indexes and attributes, or the rows in memory, or
/// the files that are records. Empty when a file has none stored, or when there are too many to read them now.
std::optional<std::int64_t> known_records(const Program& program, const BatchCount& what) {
  const Source& source = program.source;
  const bool filtered = !program.early.attributes.empty();
  if (source.files_a_part > 0) return filtered ? std::nullopt : std::optional<std::int64_t>{std::ssize(source.files)};
  std::int64_t records = 0;
  if (source.rows && filtered) return std::nullopt;
  if (source.rows) {
    for (const RowPart& part : source.rows->parts) {
      if (!part.rows && !part.count) return std::nullopt;
      records += part.rows ? part.in_memory() : *part.count;
    }
    return records;
  }
  if (source.files.size() > what.max_files) return std::nullopt;
  const auto filters = counted_filters(program);
  for (std::size_t file = 0; file < source.files.size(); ++file) {
    IndexRequest request = request_for(source, static_cast<std::uint32_t>(file));
    request.stores = what.stores;
    const auto found = load_made(program, request);
    if (!found) return std::nullopt;
    records += records_with(*found, filters);
  }
  return records;
}

/// The records that come out of the order that opens the files when all filters together keep `records`. Empty when it
/// gives another number, or some twice and others not, and a filter after it does not know which ones.
std::optional<std::int64_t> count_of_interleave(const Program& program, std::int64_t records) {
  const auto& count = program.interleave.count;
  const auto given = count ? count(records) : std::optional{records};
  const bool same = given == records && !program.interleave.repeats;
  return same || !std::ranges::any_of(program.record_orders, &Ordering::selects) ? given : std::nullopt;
}

/// The batches of a run whose passes have `pass` records each.
std::optional<std::int64_t> batches_of_run(const Program& program, std::int64_t pass) {
  std::int64_t all = 0;
  if (__builtin_mul_overflow(pass, program.epochs.value_or(1), &all)) return std::nullopt;
  auto batches = program.batching.batches(program.hard_epochs ? pass : all);
  if (batches) batches = count_after(program.batch_orders, *batches);
  if (!batches) return batches;
  if (program.hard_epochs && __builtin_mul_overflow(*batches, program.epochs.value_or(1), &*batches))
    return std::nullopt;
  return batches;
}

/// The batches of the first epochs: where batches straddle epochs, those whose first row is of them.
std::optional<std::int64_t> batches_of_first(const Program& program, std::int64_t pass, std::int64_t epochs) {
  if (program.epochs && epochs >= *program.epochs) return batches_of_run(program, pass);
  std::int64_t all = 0;
  if (program.hard_epochs) {
    auto batches = program.batching.batches(pass);
    if (batches) batches = count_after(program.batch_orders, *batches);
    if (!batches || __builtin_mul_overflow(*batches, epochs, &all)) return std::nullopt;
    return all;
  }
  const auto rows = program.batching.max_rows;
  if (!rows || *rows < 1 || !program.batch_orders.empty() || __builtin_mul_overflow(pass, epochs, &all))
    return std::nullopt;
  return batches_for(all, *rows);
}

bool by_element(const Shard& shard) { return shard.by == ShardBy::element && shard.count > 1; }
Shard dealt(const Shard& shard) { return {.batch_index = shard.batch_index, .batch_count = shard.batch_count}; }

}  // namespace

bool counted_by_index(const Program& program, const Shard& shard) {
  const bool shared = shard.by == ShardBy::file && shard.count > 1;  // passes may have different numbers of batches
  if (!program.branches.empty()) return false;  // how long its passes are depends on where the branches stand
  if (by_element(shard)) {
    return check_element_shard(program, shard.count).ok() &&
           counted_by_index(*element_shard(program, shard.index, shard.count), dealt(shard));
  }
  if (shared || program.windows || skips_early(program.on_corrupt) || !program.batching.batches) return false;
  if (!program.file_orders.empty() && count_after(program.file_orders, 1'000'000) != 1'000'000) return false;
  return program.batching.batches(0) && (program.source.rows || countable(program.record_orders));
}

std::optional<std::int64_t> batches_by_index(const Program& program, const Shard& shard, const BatchCount& what) {
  if (!counted_by_index(program, shard)) return std::nullopt;
  if (by_element(shard)) return batches_by_index(*element_shard(program, shard.index, shard.count), dealt(shard), what);
  const auto records = known_records(program, what);
  if (!records) return std::nullopt;
  const auto opened = count_of_interleave(program, *records);
  const auto pass = opened ? count_after_filters(program.record_orders, *opened) : std::nullopt;
  if (!pass) return std::nullopt;
  const auto batches = what.epochs ? batches_of_first(program, *pass, *what.epochs) : batches_of_run(program, *pass);
  if (!batches) return std::nullopt;
  return *batches / shard.batch_count + (shard.batch_index < *batches % shard.batch_count ? 1 : 0);
}

}  // namespace forebay::engine
