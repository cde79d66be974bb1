// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/combine.h>
#include <forebay/plugin.h>

#include "base/draw.h"
#include "engine/program/on_corrupt.h"
#include "engine/program/position.h"
#include "expression/expression.h"

namespace forebay::engine {

/// One tensor of the batch and how the rows of its column become it.
struct Output {
  ColumnId id = 0;
  ColumnSpec spec;                 ///< With the final delivery.
  std::optional<Padding> padding;  ///< Sizes and value when `spec.delivery` is padded.
  bool after_batch = false;        ///< Made by a step on the whole batch.
};

/// A step, its place in the document and the columns that it reads and makes.
struct PlacedStep {
  std::shared_ptr<const Step> step;
  std::string name;
  std::string pointer;  ///< JSON pointer to the step in the document, for errors.
  std::vector<ColumnId> reads;
  std::vector<ColumnId> makes;
};

/// An integer per record that an order needs.
struct EarlyAttribute {
  expression::Expression value;  ///< Boolean or integer.
  std::string name;              ///< Of the order, for errors.
  std::size_t steps = 0;         ///< Number of EarlyWork::steps before the order.
};

/// Work on the records of a block when it is read, because the order depends on its results.
struct EarlyWork {
  std::shared_ptr<const Decoder> decoder;  ///< Null when no column is needed.
  std::vector<ColumnId> decoded;           ///< Columns that the decoder fills.
  std::vector<PlacedStep> steps;           ///< Those that make columns of the attributes, in order.
  std::vector<EarlyAttribute> attributes;  ///< Of all orders, in order.
};

/// A column of the rows of a combination.
struct MergedColumn {
  ColumnId id = 0;
  std::vector<ColumnId> from;   ///< By branch: the column of its rows; `filled` where it lacks the tensor.
  std::vector<std::byte> fill;  ///< One element, for the rows of branches that lack the tensor.

  static constexpr ColumnId filled = -1;
};

/// All that the engine needs to run a plan, as plain data. The planner makes it; nothing changes it afterwards, so any
/// thread may read it.
struct Program {
  Source source;
  std::shared_ptr<const Decoder> decoder;
  std::vector<Ordering> file_orders;
  Ordering interleave;
  std::vector<Ordering> record_orders;
  EarlyWork early;  ///< For the attributes of `record_orders`.
  Batching batching;
  Schema schema;                           ///< Every column by id.
  std::vector<ColumnId> decoded;           ///< Columns that the decoder fills.
  std::vector<PlacedStep> late;            ///< Steps inside the ticket, in order.
  std::vector<Output> batched;             ///< Columns joined into a batch: outputs, and inputs of `after`.
  std::vector<PlacedStep> after;           ///< Steps on the whole batch, in order.
  std::vector<Output> outputs;             ///< Tensors of the batch, in order.
  std::optional<std::int64_t> epochs = 1;  ///< Empty: for ever.
  std::uint64_t seed = 0;
  bool hard_epochs = false;  ///< Batches do not straddle epochs.
  bool deterministic = true;
  OnCorrupt on_corrupt;
  std::int64_t threads = 0;  ///< Defaults of the run, from the document.
  std::int64_t memory = 0;
  std::int64_t prefetch = 0;
  Shard shard;
  std::int64_t files_a_pass = 0;  ///< Files of a pass of this process; 0: all files of the source.
  /// The branches of a combination; empty: the plan has one source. A branch is a program from its source to its last
  /// step before the combination: it has no batching and no outputs. `source` of the whole program only lists the files
  /// of all branches, one branch after the other; `record_orders` and `late` are those after the combination.
  std::vector<Program> branches;
  Combining combining;
  bool repeat = false;               ///< Of a branch: it begins its next epoch by itself.
  std::vector<MergedColumn> merged;  ///< The columns in `decoded` of a combination.
  std::uint64_t stream = 0;          ///< Hash of all that a state compares of a plan; shards by file have their own.
};

/// `Program::stream` of a run of `program` with this shard.
[[nodiscard]] inline std::uint64_t stream_of(const Program& program, const Shard& shard) {
  return shard.by == ShardBy::file ? mix(program.stream + static_cast<std::uint64_t>(shard.count)) : program.stream;
}

/// The number of the first file of branch `branch` in the list of all files.
[[nodiscard]] inline std::size_t first_file(const Program& program, std::size_t branch) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < branch; ++i) out += program.branches[i].source.files.size();
  return out;
}

/// The number of elements that come out of `orders` when `n` go in; empty when an order cannot say.
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
