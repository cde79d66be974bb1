// SPDX-License-Identifier: Apache-2.0
#include "columns/take/take.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "columns/take/place.h"
#include "columns/take/span_check.h"

namespace forebay::columns {

namespace {

/// The number of spans between the one that is copied and the one that is fetched into the cache; 0 when the sources
/// are small enough to be there already.
std::size_t fetched_ahead(const Taking& taking) {
  constexpr std::int64_t cached = std::int64_t{1} << 20;  // bytes
  std::int64_t bytes = 0;
  for (const Elements& source : taking.sources) {
    if (source.elements() > cached) return 8;
    bytes += source.elements() * static_cast<std::int64_t>(size_of(source.dtype()));
  }
  return bytes > cached ? 8 : 0;
}

/// Begins to load the first bytes of a span that was not checked yet. The processor finds the rest by itself.
void fetch_span(const Taking& taking, std::size_t index, std::size_t size) {
  if (index >= taking.spans.size()) return;
  const PlacedSpan& span = taking.spans[index];
  if (span.source >= taking.sources.size() || span.element >= taking.sources[span.source].rows()) return;
  const Elements& source = taking.sources[span.source];
  const ElementExtent element = source[span.element];
  if (span.start < 0 || span.start > element.frames || span.length < 0) return;
  const auto first = static_cast<std::size_t>(element.first + span.start * element.frame_elements) * size;
  const auto bytes = static_cast<std::size_t>(std::min<std::int64_t>(span.length, element.frames - span.start)) *
                     static_cast<std::size_t>(element.frame_elements) * size;
  constexpr std::size_t line = 64, lines = 8;
  for (std::size_t at = 0; at < std::min(bytes, lines * line); at += line)
    __builtin_prefetch(source.values() + first + at);
}

/// Writes the spans in `range`, one after the other, and the padding between them. `next` is the first frame of the
/// grid that is not written yet. Fails at the first span that does not fit.
template <class Out>
Result<void> place_spans(const Taking& taking, IndexRange range, std::int64_t next, const Grid& grid, Out& out,
                         std::size_t ahead = 0, std::size_t size = 0) {
  const std::span<const PlacedSpan> spans = taking.spans;
  const std::span<const Elements> sources = taking.sources;
  std::int64_t end = next;  // of the span before, its padding included
  ElementExtent element;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const PlacedSpan& span = spans[i];
    if (!span_fits(sources, span, grid, end, element)) [[unlikely]]
      return span_fault(taking, i, grid);
    if (ahead > 0) fetch_span(taking, i + ahead, size);
    const std::int64_t to = (span.row - grid.first_row) * grid.frames + span.at + span.pad_left;
    out.fill((to - next) * grid.inner.elements);
    out.from(sources[span.source]);
    place_frames(sources[span.source], element, span, taking.unfold, grid.inner, out);
    next = to + span.length;
    end = next + span.pad_right;
  }
  // What follows the last span of the range belongs to the next range.
  if (range.last == spans.size()) end = grid.rows * grid.frames;
  out.fill((end - next) * grid.inner.elements);
  return {};
}

/// The spans of rows `rows`, given that spans are in the order of their rows.
IndexRange spans_of(std::span<const PlacedSpan> spans, IndexRange rows) {
  const auto before = [](const PlacedSpan& span, std::int64_t row) { return span.row < row; };
  const auto first = std::lower_bound(spans.begin(), spans.end(), static_cast<std::int64_t>(rows.first), before);
  const auto last = std::lower_bound(first, spans.end(), static_cast<std::int64_t>(rows.last), before);
  return {static_cast<std::size_t>(first - spans.begin()), static_cast<std::size_t>(last - spans.begin())};
}

/// The rows of `out`; fails when they, or the sources, do not fit its memory.
Result<Grid> dense_grid(const Taking& taking, IndexRange range, const DenseRows& out) {
  FOREBAY_TRY(const FrameShape inner, frame_shape(out.shape));
  const Grid grid{.rows = out.rows, .frames = out.shape.rank() == 0 ? 1 : out.shape[0], .inner = inner};
  std::int64_t bytes = 0;
  if (out.dtype == DType::string || !inner.known() || grid.frames < 0 || grid.frames > max_frames || grid.rows < 0 ||
      __builtin_mul_overflow(grid.rows, grid.frames, &bytes) || __builtin_mul_overflow(bytes, inner.elements, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<std::int64_t>(size_of(out.dtype)), &bytes) ||
      static_cast<std::uint64_t>(bytes) != out.memory.size())
    return bad_taking(std::to_string(out.rows) + " rows of shape " + out.shape.text() + " in " +
                      std::to_string(out.memory.size()) + " bytes");
  if (range.first > range.last || range.last > taking.spans.size())
    return bad_taking("spans " + std::to_string(range.first) + " … " + std::to_string(range.last) + " of " +
                      std::to_string(taking.spans.size()));
  FOREBAY_DO(check_sources(taking, out.dtype, inner));
  return grid;
}

/// One row of `out`, without its unknown sizes; fails when the sources do not fit.
Result<Grid> appended_grid(const Taking& taking, IndexRange rows, const Column& out) {
  FOREBAY_TRY(const FrameShape inner, frame_shape(out.shape));
  if (rows.first > rows.last || rows.last > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
    return bad_taking("rows " + std::to_string(rows.first) + " … " + std::to_string(rows.last));
  FOREBAY_DO(check_sources(taking, out.dtype, inner));
  return Grid{.rows = 1, .frames = out.shape.rank() == 0 ? 1 : out.shape[0], .inner = inner};
}

/// Sets the unknown sizes of a row that is appended.
Result<void> resolve_row(const Taking& taking, std::size_t row, IndexRange spans, Grid& grid) {
  grid.first_row = static_cast<std::int64_t>(row);
  const bool empty = spans.first == spans.last;
  if (grid.frames == unknown_dim) {
    FOREBAY_TRY(grid.frames, empty ? Result<std::int64_t>{std::int64_t{0}} : checked_end(taking, spans.last - 1));
  }
  if (grid.inner.known()) return {};
  if (!empty) return resolve(taking, spans.first, grid.inner);
  for (std::size_t axis = 0; axis < grid.inner.rank; ++axis)
    grid.inner.sizes[axis] = std::max<std::int64_t>(grid.inner.sizes[axis], 0);
  grid.inner.elements = 0;
  return {};
}

/// Checks a row that is appended: its spans, and that its bytes can be counted.
Result<void> check_row(const Taking& taking, IndexRange spans, const Grid& grid, DType dtype) {
  const std::size_t size = std::max({size_of(dtype), sizeof(std::int64_t), taking.filler.size()});
  std::int64_t bytes = 0;
  if (grid.frames > max_frames || __builtin_mul_overflow(grid.frames, grid.inner.elements, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<std::int64_t>(size), &bytes))
    return bad_taking("row " + std::to_string(grid.first_row) + " has " + std::to_string(grid.frames) + " frames");
  NothingTo nothing;
  return place_spans(taking, spans, 0, grid, nothing);
}

/// Appends the sizes of the row's unknown dims.
void end_row(const Grid& grid, Column& out) {
  std::array<std::int64_t, max_rank> sizes{};
  std::size_t count = 0;
  for (std::size_t axis = 0; axis < out.shape.rank(); ++axis) {
    if (out.shape[axis] == unknown_dim) sizes[count++] = axis == 0 ? grid.frames : grid.inner.sizes[axis - 1];
  }
  out.end_row({sizes.data(), count});
}

/// Appends a row that was checked.
Result<void> append_row(const Taking& taking, IndexRange spans, const Grid& grid, Column& out) {
  if (out.dtype == DType::string) {
    StringsTo to{out, taking.filler, taking.check};
    FOREBAY_DO(place_spans(taking, spans, 0, grid, to));
  } else {
    const std::int64_t elements = grid.frames * grid.inner.elements;
    std::byte* const memory = out.values.extend(static_cast<std::size_t>(elements) * size_of(out.dtype));
    NumbersTo to{memory, out.dtype, taking.filler, taking.check};
    FOREBAY_DO(place_spans(taking, spans, 0, grid, to));
  }
  if (out.fixed()) {
    ++out.rows;
  } else {
    end_row(grid, out);
  }
  return {};
}

}  // namespace

Result<void> take(const Taking& taking, IndexRange range, const DenseRows& out) {
  FOREBAY_TRY(const Grid grid, dense_grid(taking, range, out));
  std::int64_t next = 0;
  if (range.first > 0) {
    const PlacedSpan& before = taking.spans[range.first - 1];
    if (!place_fits(before, grid, 0)) return span_fault(taking, range.first - 1, grid);
    next = before.row * grid.frames + before.end();
  }
  const std::size_t skipped = static_cast<std::size_t>(next * grid.inner.elements) * size_of(out.dtype);
  NumbersTo to{out.memory.data() + skipped, out.dtype, taking.filler, taking.check};
  return place_spans(taking, range, next, grid, to, fetched_ahead(taking), size_of(out.dtype));
}

Result<void> take(const Taking& taking, IndexRange rows, Column& out) {
  FOREBAY_TRY(const Grid start, appended_grid(taking, rows, out));
  const IndexRange all = spans_of(taking.spans, rows);
  for (const bool append : {false, true}) {  // all rows are checked before the first one is appended
    std::size_t next = all.first;
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      IndexRange own{next, next};
      while (own.last < all.last && taking.spans[own.last].row == static_cast<std::int64_t>(row)) ++own.last;
      next = own.last;
      Grid grid = start;
      FOREBAY_DO(resolve_row(taking, row, own, grid));
      Taking ours = taking;  // the spans after the row are cut off: its padding on the right is written, too
      ours.spans = taking.spans.first(own.last);
      FOREBAY_DO(append ? append_row(ours, own, grid, out) : check_row(ours, own, grid, out.dtype));
    }
    if (next != all.last) return bad_taking("the spans are not in the order of their rows");
  }
  return {};
}

}  // namespace forebay::columns
