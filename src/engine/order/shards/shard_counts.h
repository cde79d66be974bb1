// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/order.h>

#include "engine/program/program.h"

/// What shards by file and shards by element share: how many rows and batches each of them has.
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

/// Why batches cannot be made for a shard; empty: they can. A shard leaves each lane to one process; without states,
/// batches may be dealt. Rows that say where their batch ends are no rows of other batches.
[[nodiscard]] inline std::string_view shard_refusal(const Batching& batching, const Shard& shard) {
  const bool dealt = shard.count > 1 && shard.by == ShardBy::element;
  if (batching.marked && dealt)
    return "the rows say where these batches end, so they cannot be dealt to others; shard by row, batch or file";
  if (batching.lanes == 0) return {};
  const bool apart =
      (shard.batch_count > 1 && !batching.states.empty()) || (shard.count > 1 && shard.by != ShardBy::row);
  if (!apart) return {};
  return "the rows of these batches follow sequences, so each process keeps its rows in every batch; shard by rows";
}

/// Fails with Code::config when the batches of the program cannot be made so that each of `count` shards, by file or by
/// element, has as many.
[[nodiscard]] Result<void> check_own_batches(const Program& program, const Shard& shard);

/// Rows of a batch of a shard. `check_own_batches` refuses batches without a fixed number of rows.
[[nodiscard]] inline std::int64_t rows_of_shard(const Batching& batching, std::int64_t count) {
  return std::max<std::int64_t>(1, batching.max_rows.value_or(count) / count);
}

/// The number of batches of `rows` rows that `elements` elements need.
[[nodiscard]] inline std::int64_t batches_for(std::int64_t elements, std::int64_t rows) {
  return elements / rows + (elements % rows != 0 ? 1 : 0);
}

/// The batches of a shard's present pass, with `remainder: pad`. Shared by an order, which sets the first two, and the
/// batcher; used by the order plane only.
struct PassBatches {
  bool known = false;        ///< `batches` is set.
  std::int64_t batches = 0;  ///< Of each shard.
  std::int64_t cut = 0;      ///< So far.
};

/// The program with the batching of a shard: batches of `rows_of_shard` rows. With the remainder `pad`, batches of
/// empty rows follow until the pass has as many as `pass` says; the only pass of a run ends by itself then, so that
/// padding belongs to it.
void set_own_batches(Program& program, std::int64_t count, std::shared_ptr<PassBatches> pass);

}  // namespace forebay::engine
