// SPDX-License-Identifier: Apache-2.0
#include "columns/take/span_check.h"

#include <algorithm>
#include <string>

namespace forebay::columns {

namespace {

Error bad_span(std::size_t index, const PlacedSpan& span, const std::string& message) {
  Place place;
  place.row = span.row;
  return Error{Code::internal, Detail::invalid_argument, "span " + std::to_string(index) + ": " + message}.at(place);
}

/// The frames of a source, stacked, fill a frame of the output.
Result<void> check_stack(const Elements& source, const Unfold& unfold, const FrameShape& inner) {
  FOREBAY_TRY(const FrameShape frame, frame_shape(source.shape()));
  std::int64_t width = 0;
  if (!source.uniform() || __builtin_add_overflow(unfold.left, unfold.right, &width) ||
      __builtin_add_overflow(width, 1, &width) || __builtin_mul_overflow(width, frame.elements, &width) ||
      width != inner.elements)
    return bad_taking("stacked frames of shape " + source.shape().text() + " do not fill a frame of the rows");
  return {};
}

/// Fails when the span names no element.
Result<void> check_source(const Taking& taking, std::size_t index) {
  const PlacedSpan& span = taking.spans[index];
  if (span.source >= taking.sources.size())
    return bad_span(index, span,
                    "names source " + std::to_string(span.source) + " of " + std::to_string(taking.sources.size()));
  if (span.element >= taking.sources[span.source].rows())
    return bad_span(index, span,
                    "names element " + std::to_string(span.element) + " of a source that has " +
                        std::to_string(taking.sources[span.source].rows()));
  return {};
}

}  // namespace

Error bad_taking(const std::string& message) { return {Code::internal, Detail::invalid_argument, message}; }

Result<FrameShape> frame_shape(const Shape& shape) {
  FrameShape out;
  if (shape.rank() > max_rank) return bad_taking("shape " + shape.text() + " has too many axes");
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
    out.sizes[out.rank++] = shape[axis];
    if (shape[axis] == unknown_dim) out.elements = unknown_dim;
    if (shape[axis] < unknown_dim || (out.known() && __builtin_mul_overflow(out.elements, shape[axis], &out.elements)))
      return bad_taking("shape " + shape.text());
  }
  return out;
}

Result<std::int64_t> checked_end(const Taking& taking, std::size_t index) {
  const PlacedSpan& span = taking.spans[index];
  const std::int64_t parts[] = {span.at, span.pad_left, span.length, span.pad_right};
  if (*std::min_element(parts, parts + 4) < 0 || *std::max_element(parts, parts + 4) > max_frames)
    return bad_span(index, span, "has a negative number, or ends too far away");
  return span.end();
}

Result<void> resolve(const Taking& taking, std::size_t index, FrameShape& inner) {
  FOREBAY_DO(check_source(taking, index));
  const PlacedSpan& span = taking.spans[index];
  const Elements& source = taking.sources[span.source];
  std::array<std::int64_t, max_rank> sizes;
  source.frame_sizes(span.element, sizes.data());
  inner.elements = 1;
  for (std::size_t axis = 0; axis < inner.rank; ++axis) {
    if (inner.sizes[axis] == unknown_dim) inner.sizes[axis] = sizes[axis];
    if (__builtin_mul_overflow(inner.elements, inner.sizes[axis], &inner.elements))
      return bad_span(index, span, "has frames that are too large");
  }
  return {};
}

Result<void> check_sources(const Taking& taking, DType dtype, const FrameShape& inner) {
  if (taking.unfold.left < 0 || taking.unfold.right < 0)
    return bad_taking("a stack of " + std::to_string(taking.unfold.left) + " frames before and " +
                      std::to_string(taking.unfold.right) + " after each one");
  if (dtype != DType::string && !taking.filler.empty() && taking.filler.size() != size_of(dtype))
    return bad_taking("a padding value of " + std::to_string(taking.filler.size()) + " bytes for " +
                      std::string{to_string(dtype)});
  for (const Elements& source : taking.sources) {
    if (source.dtype() != dtype)
      return bad_taking("a source of " + std::string{to_string(source.dtype())} + " for rows of " +
                        std::string{to_string(dtype)});
    if (!taking.unfold.none()) {
      FOREBAY_DO(check_stack(source, taking.unfold, inner));
    } else if (source.shape().rank() > max_rank || std::max<std::size_t>(source.shape().rank(), 1) - 1 != inner.rank ||
               (source.uniform() && !frames_fit(source, 0, inner))) {
      return bad_taking("frames of a source of shape " + source.shape().text() + " do not fit those of the rows");
    }
  }
  return {};
}

bool frames_fit(const Elements& source, std::int64_t element, const FrameShape& inner) {
  std::array<std::int64_t, max_rank> sizes;
  source.frame_sizes(element, sizes.data());
  for (std::size_t axis = 0; axis < inner.rank; ++axis) {
    if (inner.sizes[axis] != unknown_dim && sizes[axis] > inner.sizes[axis]) return false;
  }
  return true;
}

Error span_fault(const Taking& taking, std::size_t index, const Grid& grid) {
  const auto named = check_source(taking, index);
  if (!named.ok()) return named.error();
  const PlacedSpan& span = taking.spans[index];
  const Elements& source = taking.sources[span.source];
  const std::int64_t frames = source[span.element].frames;
  if (span.start < 0 || span.length < 0 || span.start > frames || span.length > frames - span.start)
    return bad_span(index, span,
                    std::to_string(span.length) + " frames from " + std::to_string(span.start) +
                        " of an element that has " + std::to_string(frames));
  if (!source.uniform() && !frames_fit(source, span.element, grid.inner))
    return bad_span(index, span, "the frames of the element are larger than those of the row");
  if (span.row < grid.first_row || span.row >= grid.first_row + grid.rows)
    return bad_span(index, span,
                    "names row " + std::to_string(span.row) + " of " + std::to_string(grid.first_row + grid.rows));
  if (place_fits(span, grid, 0)) return bad_span(index, span, "begins before the end of the span before it");
  return bad_span(index, span,
                  std::to_string(span.pad_left) + " + " + std::to_string(span.length) + " + " +
                      std::to_string(span.pad_right) + " frames at " + std::to_string(span.at) + " of a row that has " +
                      std::to_string(grid.frames));
}

}  // namespace forebay::columns
