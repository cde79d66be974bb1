// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "columns/take/place.h"

/// Checks what `take` is asked to do, so that no wrong span reads or writes outside its memory.
namespace forebay::columns {

[[nodiscard]] Error bad_taking(const std::string& message);  ///< Code::internal: the caller asks for the impossible.

/// The sizes of the frames of rows of this shape; fails when there are too many.
[[nodiscard]] Result<FrameShape> frame_shape(const Shape& shape);

/// The end of a span in its row; fails when its numbers are negative or too large.
[[nodiscard]] Result<std::int64_t> checked_end(const Taking& taking, std::size_t span);

/// Gives the unknown sizes of `inner` those of the frames of the span's element, and computes its product.
[[nodiscard]] Result<void> resolve(const Taking& taking, std::size_t span, FrameShape& inner);

/// The sources have elements of `dtype` whose frames, stacked, fit frames of the sizes `inner` where both are known.
[[nodiscard]] Result<void> check_sources(const Taking& taking, DType dtype, const FrameShape& inner);

inline constexpr std::int64_t max_frames = std::int64_t{1} << 60;  ///< Of a row; four of them fit an int64.

/// The rows of a batch that are written together: `rows` rows of `frames` frames, of the sizes `inner`.
struct Grid {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t frames = 0;  ///< At most max_frames.
  FrameShape inner;
};

/// The place of the span is in the grid, at frame `next` of the grid or later.
[[nodiscard]] inline bool place_fits(const PlacedSpan& span, const Grid& grid, std::int64_t next) {
  const std::int64_t row = span.row - grid.first_row;
  if (span.row < grid.first_row || row >= grid.rows) return false;
  if ((span.at | span.pad_left | span.length | span.pad_right) < 0) return false;
  if (std::max({span.at, span.pad_left, span.length, span.pad_right}) > grid.frames) return false;
  return span.end() <= grid.frames && row * grid.frames + span.at >= next;
}

/// The frames of one element fit those of the output.
[[nodiscard]] bool frames_fit(const Elements& source, std::int64_t element, const FrameShape& inner);

/// The span lies in its element, and its place in the grid, at frame `next` of the grid or later. Sets `element`.
[[nodiscard]] inline bool span_fits(std::span<const Elements> sources, const PlacedSpan& span, const Grid& grid,
                                    std::int64_t next, ElementExtent& element) {
  if (span.source >= sources.size()) return false;
  const Elements& source = sources[span.source];
  if (span.element >= source.rows()) return false;
  element = source[span.element];
  if (span.start < 0 || span.start > element.frames || span.length > element.frames - span.start) return false;
  if (!source.uniform() && !frames_fit(source, span.element, grid.inner)) return false;
  return place_fits(span, grid, next);
}

/// Why the span does not fit.
[[nodiscard]] Error span_fault(const Taking& taking, std::size_t span, const Grid& grid);

}  // namespace forebay::columns
