// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "engine/program/program.h"

/// Plans whose rows are spans of elements (engine::Taking).
namespace forebay::plan {

/// How the rows of a batcher that places spans are made: each column that is cut becomes a new one of its name, whose
/// first size is unknown; the other visible columns are taken whole. Empty when the batcher packs nothing.
/// Adds the columns that the batcher generates.
[[nodiscard]] std::optional<engine::Taking> pack_columns(const Batching& batching, Schema& schema);

/// Does the same for a batcher that packs windows: `taking`, which has the spans of the windows, gets those of the
/// parts that the batcher places. Fails when the batcher packs a tensor that has no time axis of windows.
[[nodiscard]] Result<void> pack_windows(const Batching& batching, engine::Windows& windows, engine::Taking& taking,
                                        Schema& schema);

/// Leaves out the columns of rows that nothing uses.
void keep_used(engine::Taking& taking, const std::function<bool(ColumnId)>& used);

/// Whether the windows of a record come in many batches, so that its block is decoded when it is read. Only the check
/// of a block does that, so a plan that needs none has no decoded blocks.
[[nodiscard]] bool decodes_early(const engine::Program& program);

/// Moves the steps before the batch to the elements, which they act on.
void take_late_steps(engine::Program& program);

}  // namespace forebay::plan
