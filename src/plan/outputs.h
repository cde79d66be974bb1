// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// How every visible column becomes a tensor of the batch. `options` are the batcher's, for the places of faults.
[[nodiscard]] std::vector<engine::Output> batch_outputs(const Schema& schema, const Batching& batching,
                                                        const Json& options, Faults& faults);

/// The schema that steps behind the batch see: sizes that padding may change are unknown.
[[nodiscard]] Schema behind_batch(const Schema& schema, const std::vector<engine::Output>& batched);

/// What the batch shows: visible columns, those of ids from `first_after` on made behind the batch.
[[nodiscard]] std::vector<engine::Output> final_outputs(const Schema& schema, std::size_t first_after,
                                                        const std::vector<engine::Output>& batched,
                                                        const Batching& batching);

/// The shape of the rows that users see: sizes fixed by padding are known.
[[nodiscard]] Shape shown_shape(const engine::Output& output);

}  // namespace forebay::plan
