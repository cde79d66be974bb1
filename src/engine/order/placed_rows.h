// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <forebay/batch_rows.h>

#include "engine/blocks/batch_layout.h"
#include "engine/program/program.h"

/// Batches whose rows are made of spans of elements (BatchLayout::taken), for the order plane.
namespace forebay::engine {

/// Fills the handles and the spans of `layout` from the rows that a batcher has placed. Each element is in the handles
/// once, however many spans it has. Returns the handles that are left over: the caller drops them.
[[nodiscard]] std::vector<Handle> place_rows(const BatchRows& rows, BatchLayout& layout);

/// Says how long the padded columns of a batcher that packs are in the whole batch (BatchLayout::longest), so
/// that every shard gets the same shape. `frames_of`: the frames of a window along one axis.
void pad_as_whole_batch(const Program& program,
                        const std::function<std::int64_t(const Handle& window, std::size_t axis)>& frames_of,
                        BatchLayout& layout);

/// Leaves rows first … end - 1 in the layout. Returns the elements that none of them uses: the caller drops them.
[[nodiscard]] std::vector<Handle> keep_rows(BatchLayout& layout, std::int64_t first, std::int64_t end);

}  // namespace forebay::engine
