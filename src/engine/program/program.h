// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/plugin.h>

#include "engine/program/on_corrupt.h"
#include "engine/program/position.h"

namespace forebay::engine {

/// One tensor of the batch and how the rows of its column become it.
struct Output {
  ColumnId id = 0;
  ColumnSpec spec;                 ///< Delivery is final here.
  std::optional<Padding> padding;  ///< Sizes and value when `spec.delivery` is padded.
  bool after_batch = false;        ///< Made by a step after the batch.
};

/// A step with the columns that it reads and makes.
struct PlacedStep {
  std::shared_ptr<const Step> step;
  std::string name;
  std::string pointer;  ///< Of its place in the document, for errors.
  std::vector<ColumnId> reads;
  std::vector<ColumnId> makes;
};

/// What the engine runs: made by the planner, never changed.
struct Program {
  Source source;
  std::shared_ptr<const Decoder> decoder;
  std::vector<Ordering> file_orders;
  Ordering interleave;
  std::vector<Ordering> record_orders;
  Batching batching;
  Schema schema;                           ///< Every column by id.
  std::vector<ColumnId> decoded;           ///< Columns that the decoder fills.
  std::vector<PlacedStep> late;            ///< Inside the ticket.
  std::vector<Output> batched;             ///< Columns that rows are gathered into: outputs, and inputs of `after`.
  std::vector<PlacedStep> after;           ///< On the finished batch.
  std::vector<Output> outputs;             ///< What the batch shows, in order.
  std::optional<std::int64_t> epochs = 1;  ///< Empty: for ever.
  std::uint64_t seed = 0;
  bool hard_epochs = false;  ///< Batches do not straddle epochs.
  bool deterministic = true;
  OnCorrupt on_corrupt;
  std::int64_t threads = 0;  ///< Defaults of the run, from the document.
  std::int64_t memory = 0;
  std::int64_t prefetch = 0;
  Shard shard;
  std::int64_t files_a_pass = 0;  ///< That this process goes through; 0: all of the source's.
};

/// How many come out of the orders when `n` go in, where every one of them can say it.
[[nodiscard]] inline std::optional<std::int64_t> count_after(const std::vector<Ordering>& orders, std::int64_t n) {
  for (const Ordering& order : orders) {
    if (!order.count) continue;
    const auto out = order.count(n);
    if (!out) return std::nullopt;
    n = *out;
  }
  return n;
}

}  // namespace forebay::engine
