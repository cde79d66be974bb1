// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "plan/document/faults.h"

namespace forebay::plan {

/// How every visible column becomes a tensor of the batch. Faults of the padding are at places in `options`, which are
/// the batcher's.
[[nodiscard]] std::vector<engine::Output> batch_outputs(const Schema& schema, const Batching& batching,
                                                        const Json& options, Faults& faults);

/// The schema that steps after the batch see: sizes that padding may change are unknown.
[[nodiscard]] Schema after_batch(const Schema& schema, const std::vector<engine::Output>& batched);

/// The tensors that a batch delivers: the visible columns. Those with ids from `first_after` on were made after the
/// batch.
[[nodiscard]] std::vector<engine::Output> final_outputs(const Schema& schema, std::size_t first_after,
                                                        const std::vector<engine::Output>& batched,
                                                        const Batching& batching);

/// The shape of a row as users see it: sizes that padding fixes are known.
[[nodiscard]] Shape shown_shape(const engine::Output& output);

}  // namespace forebay::plan
