// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/continuous.h>

#include <limits>

#include "windows/joined.h"
#include "windows/keys.h"

namespace forebay::windows {
namespace {

/// The elements of a call, as one sequence of frames. Windows only move forward, so the walk never goes back.
struct FrameWalk {
  const WindowRows& rows;
  std::size_t keys;
  std::size_t elements;
  std::size_t element = 0;  // the first one that ends after the last window's start
  std::int64_t first = 0;   // its first frame

  [[nodiscard]] std::int64_t length(std::size_t index) const { return rows.lengths[index * keys]; }

  /// Adds the spans of the window of `frames` frames that begins at `position`.
  void add(std::int64_t position, std::int64_t frames, SpanTable& out) {
    while (first + length(element) <= position) first += length(element++);
    std::int64_t begin = first;
    for (std::size_t i = element; frames > 0; begin += length(i++)) {
      const std::int64_t start = std::max(position, begin) - begin;
      const std::int64_t count = std::min(frames, length(i) - start);
      if (count > 0)
        out.add({.element = rows.first_element + static_cast<std::int64_t>(i), .start = start, .length = count});
      frames -= count;
    }
  }
};

/// Windows over the records of a part. The table has one axis: all keys have the same lengths.
class ContinuousCutter final : public WindowCutter {
 public:
  ContinuousCutter(Continuous options, std::vector<std::string> names)
      : options_{std::move(options)}, names_{std::move(names)} {}

  Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                     SpanTable& out) const override {
    FOREBAY_TRY(const std::size_t elements, count_elements(rows, names_.size()));
    FOREBAY_TRY(const std::int64_t end, end_of(rows, elements));
    if (rows.first_frame > at.position)
      return Error{Code::internal, "the elements begin at frame " + std::to_string(rows.first_frame) +
                                       ", after the next window, which begins at " + std::to_string(at.position)};
    FrameWalk walk{.rows = rows, .keys = names_.size(), .elements = elements, .first = rows.first_frame};
    const std::uint64_t key = place_key(rows.place);
    for (std::int64_t made = 0;; ++made) {
      const std::int64_t left = std::max<std::int64_t>(end - at.position, 0);
      const Size size = draw(key, at.window);
      const bool tail = left < size.window;
      if (tail && !(rows.ends && is_last_window(options_.tail, left, options_.min_window))) return CutEnd::needs_rows;
      if (made == max_windows) return CutEnd::full;
      out.begin(at.window);
      walk.add(at.position, tail ? left : size.window, out);
      at.position = tail ? end : at.position + size.stride;
      ++at.window;
    }
  }

 private:
  struct Size {
    std::int64_t window;
    std::int64_t stride;
  };

  [[nodiscard]] Size draw(std::uint64_t key, std::int64_t window) const {
    const std::uint64_t index = draw_index(options_.window_draw, window);
    const std::int64_t frames = size_within(draw_at(key, 2 * index), options_.min_window, options_.max_window);
    if (options_.min_stride)
      return {frames, size_within(draw_at(key, 2 * index + 1), *options_.min_stride, *options_.max_stride)};
    return {frames, options_.stride.value_or(frames)};
  }

  /// The frame after the last element; fails when the keys of one differ in length.
  [[nodiscard]] Result<std::int64_t> end_of(const WindowRows& rows, std::size_t elements) const {
    std::int64_t end = rows.first_frame;
    for (std::size_t i = 0; i < elements; ++i) {
      const std::span<const std::int64_t> lengths = rows.lengths.subspan(i * names_.size(), names_.size());
      const std::int64_t element = rows.first_element + static_cast<std::int64_t>(i);
      FOREBAY_DO(check_equal(names_, lengths, element, "all tensors of a window have"));
      if (lengths[0] > std::numeric_limits<std::int64_t>::max() - max_window_frames - end)
        return bad_element(element, "the part has too many frames");
      end += lengths[0];
    }
    return end;
  }

  const Continuous options_;
  const std::vector<std::string> names_;
};

Result<void> check_sizes(const Continuous& options) {
  if (options.min_window > options.max_window)
    return bad_window("min_window " + std::to_string(options.min_window) + " exceeds max_window " +
                      std::to_string(options.max_window))
        .at(Field{"min_window"});
  if (options.stride && (options.min_stride || options.max_stride))
    return bad_window("give `stride`, or `min_stride` and `max_stride`, not both").at(Field{"stride"});
  if (options.min_stride.has_value() != options.max_stride.has_value())
    return bad_window("`min_stride` and `max_stride` are given together")
        .at(Field{options.min_stride ? "min_stride" : "max_stride"});
  if (options.min_stride && *options.min_stride > *options.max_stride)
    return bad_window("min_stride " + std::to_string(*options.min_stride) + " exceeds max_stride " +
                      std::to_string(*options.max_stride))
        .at(Field{"min_stride"});
  return {};
}

Result<Windowing> bind(const Continuous& options, const Schema& in, const Windowing* before) {
  FOREBAY_DO(check_sizes(options));
  if (before != nullptr) return bad_window("`continuous` cuts records, not windows: it is the first window step");
  FOREBAY_TRY(Windowing out, find_keys(options.keys, in));
  const bool one_length = options.min_window == options.max_window && options.tail != WindowTail::keep;
  make_columns(out, in, one_length ? options.min_window : unknown_dim);
  out.grain = WindowGrain::parts;
  out.draws = options.min_window < options.max_window || options.min_stride != options.max_stride;
  out.cutter = std::make_shared<ContinuousCutter>(options, key_names(out, in));
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType continuous() {
  constexpr Range frames{.min = 1, .max = max_window_frames};
  return with_names(
      describe<WindowType, Continuous>(
          "continuous", "Cuts windows out of the records of a part, joined along their first axis.", bind)
          .field("keys", &Continuous::keys, "Tensors to cut; empty: all whose first size is unknown.")
          .required("min_window", &Continuous::min_window, "Least length of a window, in frames.", frames)
          .required("max_window", &Continuous::max_window, "Greatest length of a window; drawn uniformly.", frames)
          .field("stride", &Continuous::stride, "Frames from window to window; null: the window's length.", frames)
          .field("min_stride", &Continuous::min_stride, "Instead of `stride`: drawn uniformly, from this on.", frames)
          .field("max_stride", &Continuous::max_stride, "Greatest stride.", frames)
          .field("window_draw", &Continuous::window_draw, "Draw for each window, or once for each file and pass.")
          .field("tail", &Continuous::tail, "What becomes of frames at the end that do not fill a window.")
          .example({.options = R"({"min_window": 3, "max_window": 3})", .in = "[4, 3, 3]", .out = "[3, 3, 3]"}));
}

}  // namespace forebay::windows
