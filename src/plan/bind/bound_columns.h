// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/program.h"
#include "plan/bind/lookups.h"
#include "plan/bind/stages.h"

namespace forebay::plan {

/// The tensors that nothing is known about, because a stage that makes or changes them has a fault. Later stages that
/// name one of them are judged by their options alone: any other fault would only follow from the first one.
struct UnknownTensors {
  std::set<std::string> names;
  bool all = false;  ///< A stage that no plug-in is known for may have made or changed any tensor.

  [[nodiscard]] bool contains(const std::string& name) const { return all || names.contains(name); }
  [[nodiscard]] bool contain_any(const std::vector<std::string>& some) const;
};

/// The columns of a pipeline from the decoder to the batch, and the operators that make them.
struct BoundColumns {
  std::shared_ptr<const Decoder> decoder;
  std::vector<ColumnId> decoded;         ///< Columns that the decoder fills.
  Schema decoder_schema;                 ///< All columns of the decoder, under the names that it gives them.
  std::vector<engine::PlacedStep> late;  ///< Steps before the batch: `implied`, then those of the document.
  std::size_t implied = 0;               ///< Steps of `late` that the document does not list, the keys of records.
  engine::EarlyWork early;               ///< What the orders and the batcher need of the records.
  std::optional<engine::Windows> windows;
  std::optional<engine::Taking> taking;  ///< Set: rows are made of spans. Without its steps.
  std::size_t element_steps = 0;         ///< With windows: the number of `late` that act on elements.
  Batching batching;
  std::size_t batcher_attribute = 0;      ///< Of EarlyWork::attributes or Windows::attributes: the batcher's first one.
  std::vector<engine::Output> batched;    ///< Columns that become tensors of the batch.
  std::vector<engine::PlacedStep> after;  ///< Steps after the batch.
  Schema at_batch;                        ///< What rows are gathered from.
  Schema schema;                          ///< After the last step.
  std::vector<engine::Output> outputs;    ///< Tensors that are delivered.
  bool columns_known = false;             ///< False: the decoder could not be bound.
  UnknownTensors unknown;
  FileHashes file_hashes;  ///< Of the small files of steps.

  /// How many steps of the document are among the first `steps` of `late`.
  [[nodiscard]] std::size_t of_document(std::size_t steps) const { return steps - implied; }
};

/// Binds the decoder with all its columns, the steps and the batcher. Where rows come ready there is no decoder: the
/// columns are those of the rows, which are `merged` after a combination. Goes on after a fault with everything that
/// does not depend on it. The small files of steps lie in `folder`.
[[nodiscard]] BoundColumns bind_columns(const Stages& stages, const RowSource* merged, const Source& source,
                                        const std::string& folder, Faults& faults);

/// Leaves out the columns that are neither delivered nor read: they are not decoded, and not gathered into batches.
/// Takes columns that were bound without a fault.
void project(const Stages& stages, BoundColumns& columns, Faults& faults);

}  // namespace forebay::plan
