// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "plan/stages.h"

namespace forebay::plan {

/// The columns of a pipeline from the decoder to the batch and what makes them.
struct Flow {
  std::shared_ptr<const Decoder> decoder;
  std::vector<ColumnId> decoded;
  std::vector<std::string> decoded_names;
  std::vector<engine::PlacedStep> late;
  Batching batching;
  std::vector<engine::Output> batched;
  std::vector<engine::PlacedStep> after;
  Schema at_batch;  ///< What rows are gathered from.
  Schema schema;    ///< Behind the last step.
  std::vector<engine::Output> outputs;
  bool columns_known = false;   ///< False: the decoder could not be bound, so nobody can say what there is.
  std::set<std::string> doubt;  ///< Names of tensors that something is wrong with: nothing else is said of them.
};

/// Binds everything that depends on columns, with only the decoder's columns in `wanted` (empty: all). Goes on after
/// a fault where what follows does not depend on it.
[[nodiscard]] Flow bind_flow(const Stages& stages, const std::vector<std::string>& wanted, Faults& faults);

/// The decoder's columns that something uses. `all` is the flow with every column.
[[nodiscard]] std::vector<std::string> used_columns(const Stages& stages, const Flow& all);

}  // namespace forebay::plan
