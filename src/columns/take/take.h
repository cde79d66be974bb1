// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "columns/take/elements.h"

/// Copies spans of elements to their places in rows: windows, packed rows, padded rows, stacked frames.
///
///     element    f0 f1 f2 f3 f4 f5 f6                      start 1, length 3, pad_left 1, pad_right 0, at 2
///                   └────────┐
///     row        .. .. ‥ f1 f2 f3 .. .. ..                 ‥ pad_left; .. padding outside the spans of the row
///                      at
///
/// A row has zero, one or several spans. Frames of a row that no span covers get the padding value.
namespace forebay::columns {

/// A stretch of one element, and its place in a row. All numbers are in frames, except `source`, `element` and `row`.
struct PlacedSpan {
  std::uint32_t source = 0;    ///< Index in Taking::sources.
  std::uint32_t element = 0;   ///< Row of the source.
  std::int64_t start = 0;      ///< First frame of the element.
  std::int64_t length = 0;     ///< Frames of the element; 0 is allowed.
  std::int64_t pad_left = 0;   ///< Padding before them.
  std::int64_t pad_right = 0;  ///< Padding after them.
  std::int64_t row = 0;        ///< Row of the output.
  std::int64_t at = 0;         ///< Frame of the row at which `pad_left` begins.

  /// The first frame of the row after the span, its padding included.
  [[nodiscard]] std::int64_t end() const { return at + pad_left + length + pad_right; }
};

/// The span that is one whole element, as the only one of `row`.
[[nodiscard]] inline PlacedSpan whole_element(const Elements& from, std::uint32_t source, std::uint32_t element,
                                              std::int64_t row) {
  return {.source = source, .element = element, .length = from[element].frames, .row = row};
}

/// Stacking: output frame t is the frames t - left … t + right of its element, one after the other. Frames outside the
/// element are padding; frames of the element that lie outside the span are not.
struct Unfold {
  std::int64_t left = 0;
  std::int64_t right = 0;

  [[nodiscard]] bool none() const { return left == 0 && right == 0; }
};

/// What is taken: all spans of a batch, in the order of row and `at`, without overlaps. The memory outlives the call.
struct Taking {
  std::span<const Elements> sources;
  std::span<const PlacedSpan> spans;
  std::span<const std::byte> filler;  ///< One padding value; empty: 0, false or "".
  Unfold unfold = {};
  const StopCheck* check = nullptr;  ///< Polled during long copies.
};

/// Rows of one known shape whose memory exists: the column of a batch, fixed or padded. No strings.
struct DenseRows {
  DType dtype = DType::float32;
  std::span<std::byte> memory;  ///< Of all rows, without a gap.
  std::int64_t rows = 0;
  Shape shape;  ///< Of one row; the first axis is the time axis. The other sizes are at least those of every frame.
};

/// Indices `first` … `last - 1`.
struct IndexRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Writes the spans in `range`, and the padding up to each of them; the range that ends with the last span also writes
/// the padding after that. Ranges that cover all spans write every byte of `out` once, so several threads may each
/// take a range. A batch without a span is the range 0 … 0.
///
/// Fails with Code::internal when a span does not fit its element, its row or the span before it, and when the sources
/// do not fit `out`. The rows are then unspecified; nothing outside them is read or written.
[[nodiscard]] Result<void> take(const Taking& taking, IndexRange range, const DenseRows& out);

/// Appends rows `rows` of the batch to a column: strings, and rows of unknown shape. A row of unknown length is as long
/// as the end of its last span; other unknown sizes are those of its frames, which must be equal within a row. A known
/// length is padded.
///
/// Fails as above, but without a change to `out`.
[[nodiscard]] Result<void> take(const Taking& taking, IndexRange rows, Column& out);

}  // namespace forebay::columns
