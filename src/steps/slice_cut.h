// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <forebay/schema.h>

#include "columns/strided.h"
#include "steps/slice_text.h"

/// The elements that a slice selects. Python's rules: negative numbers count from the end, ranges are clamped, a
/// negative step goes backwards.
namespace forebay::steps {

/// The shape of the result. Unknown axes that a range selects stay unknown. Fails when there are more items than axes,
/// on a step of 0, and on an index outside a known axis.
[[nodiscard]] Result<Shape> cut_shape(const Shape& shape, std::span<const SliceItem> items);

/// The selected elements of a row of these sizes. Fails on an index outside its axis. The caller has
/// checked with cut_shape that there are no more items than axes.
[[nodiscard]] Result<columns::Strided> cut_row(std::span<const std::int64_t> row, std::span<const SliceItem> items);

/// The number of elements that a range selects of an axis.
[[nodiscard]] std::int64_t kept_of(const SliceItem& range, std::int64_t size);

}  // namespace forebay::steps
