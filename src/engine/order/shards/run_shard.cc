// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shards/run_shard.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "engine/order/shards/element_shard.h"
#include "engine/order/shards/file_shard.h"
#include "engine/order/shards/shard_counts.h"

namespace forebay::engine {

Shard shard_of(const RunOptions& options) {
  return {.index = options.shard_index,
          .count = options.shard_count,
          .by = options.shard_count > 1 ? options.shard_by : ShardBy::row,
          .batch_index = options.batch_index,
          .batch_count = std::max<std::int64_t>(1, options.batch_count)};
}

namespace {

Result<void> check_part(std::string_view name, std::int64_t index, std::int64_t count) {
  if (count >= 1 && index >= 0 && index < count) return {};
  return Error{
      Code::config, Detail::invalid_argument,
      fmt::format("{}: must be (index, count) with index from 0 to count - 1, found ({}, {})", name, index, count)};
}

Result<void> check_shard(const Program& program, const RunOptions& options) {
  const auto rows = program.batching.max_rows;
  FOREBAY_DO(check_part("shard", options.shard_index, options.shard_count));
  FOREBAY_DO(check_part("shard by batch", options.batch_index, options.batch_count));
  if (const auto refusal = shard_refusal(program.batching, shard_of(options)); !refusal.empty())
    return Error{Code::config, Detail::invalid_argument, fmt::format("shard: {}", refusal)};
  if (options.batch_count > 1 && !program.deterministic) {
    return Error{Code::config, Detail::invalid_argument,
                 "shard: the batches must be the same everywhere to be dealt; set `deterministic` to true"};
  }
  const Shard shard = shard_of(options);
  const bool whole = own_stream(shard) && !program.batching.make_sized;  // each shard has whole batches
  if (!rows || whole || *rows % options.shard_count == 0) {
    if (shard.by == ShardBy::file) return check_file_shard(program, shard.count);
    if (shard.by == ShardBy::element) return check_element_shard(program, shard.count);
    return {};
  }
  return Error{Code::config, Detail::invalid_argument, "shard: " + shard_misfit(*rows, options.shard_count)};
}

/// Fills in the document's shard where the options have none, and turns a shard by batch into the one beside a shard.
/// Fails with Code::config when there are two shards by batch.
Result<void> take_document(const Shard& document, RunOptions& options) {
  if (options.shard_count == 0) {
    Shard taken = document;
    if (options.batch_count != 0) taken.batch_index = options.batch_index, taken.batch_count = options.batch_count;
    options.take(taken);
  }
  if (options.batch_count == 0) options.batch_index = 0, options.batch_count = 1;
  if (options.shard_by != ShardBy::batch) return {};
  if (options.batch_count != 1)
    return Error{Code::config, Detail::invalid_argument, "shard: two shards are by batch; give one of them"};
  options.batch_index = std::exchange(options.shard_index, 0);
  options.batch_count = std::exchange(options.shard_count, 1);
  options.shard_by = ShardBy::row;
  return {};
}

}  // namespace

Result<void> resolve_shard(const Program& program, RunOptions& options) {
  FOREBAY_DO(take_document(program.shard, options));
  return check_shard(program, options);
}

}  // namespace forebay::engine
