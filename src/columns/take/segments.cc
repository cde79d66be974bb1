// SPDX-License-Identifier: Apache-2.0
#include "columns/take/segments.h"

#include <algorithm>
#include <numeric>

namespace forebay::columns {

namespace {

/// Calls `write(number of the span, its frames)` for each span that has frames; all other frames become 0.
template <class Write>
void each_segment(std::span<const PlacedSpan> row, std::span<std::int32_t> frames, Write write) {
  std::ranges::fill(frames, 0);
  const auto size = std::ssize(frames);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::int64_t first = std::clamp<std::int64_t>(row[i].at + row[i].pad_left, 0, size);
    const std::int64_t count = std::clamp<std::int64_t>(row[i].length, 0, size - first);
    write(i, frames.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  }
}

}  // namespace

std::int64_t row_frames(std::span<const PlacedSpan> row) {
  return row.empty() ? 0 : std::max<std::int64_t>(0, row.back().end());
}

void segment_ids(std::span<const PlacedSpan> row, std::span<std::int32_t> frames) {
  each_segment(row, frames, [](std::size_t i, std::span<std::int32_t> own) {
    std::ranges::fill(own, static_cast<std::int32_t>(i) + 1);
  });
}

void segment_positions(std::span<const PlacedSpan> row, std::span<std::int32_t> frames) {
  each_segment(row, frames, [](std::size_t, std::span<std::int32_t> own) { std::iota(own.begin(), own.end(), 0); });
}

void segment_starts(std::span<const PlacedSpan> row, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < row.size(); ++i) out[i] = static_cast<std::int32_t>(row[i].at);
  out.back() = static_cast<std::int32_t>(row_frames(row));
}

}  // namespace forebay::columns
