// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <forebay/column.h>

#include "columns/take/take.h"

/// Columns of packed rows that say which frames belong together. They are made of the spans of each row alone.
///
///     spans         at 0: 3 frames   at 4: 2 frames, with one frame of padding on the left
///     frames        a b c . . d e
///     segment ids   1 1 1 0 0 2 2
///     positions     0 1 2 0 0 0 1
///     cu_seqlens    0 4 7
namespace forebay::columns {

/// The end of the last span; 0 without spans.
[[nodiscard]] std::int64_t row_frames(std::span<const PlacedSpan> row);

/// Writes for each frame the number of its span, from 1; 0 for padding. Spans end where `frames` ends.
void segment_ids(std::span<const PlacedSpan> row, std::span<std::int32_t> frames);

/// Writes for each frame its place in its span, from 0; 0 for padding. Spans end where `frames` ends.
void segment_positions(std::span<const PlacedSpan> row, std::span<std::int32_t> frames);

/// Writes where each span begins, its padding included, and the end of the last one. `out` has one number more than
/// there are spans.
void segment_starts(std::span<const PlacedSpan> row, std::span<std::int32_t> out);

}  // namespace forebay::columns
