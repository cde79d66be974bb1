// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "engine/program/program.h"

/// Plans whose rows are spans of elements (engine::Taking).
namespace forebay::plan {

/// How the rows of a batcher that places spans are made: each column that is cut becomes a new one of its name, whose
/// first size is unknown; the other visible columns are taken whole. Empty when the batcher packs nothing.
[[nodiscard]] std::optional<engine::Taking> pack_columns(const Batching& batching, Schema& schema);

/// Leaves out the columns of rows that nothing uses.
void keep_used(engine::Taking& taking, const std::function<bool(ColumnId)>& used);

/// Moves the steps before the batch to the elements, which they act on.
void take_late_steps(engine::Program& program);

}  // namespace forebay::plan
