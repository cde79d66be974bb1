// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/context.h>

#include "windows/around.h"
#include "windows/keys.h"

namespace forebay::windows {
namespace {

/// Widens what another cutter cut. One axis for each key.
class ContextCutter final : public WindowCutter {
 public:
  ContextCutter(std::shared_ptr<const WindowCutter> inner, std::vector<FramesAround> widths)
      : inner_{std::move(inner)}, widths_{std::move(widths)} {}

  Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                     SpanTable& out) const override {
    const std::size_t before = out.size();
    FOREBAY_TRY(const CutEnd end, inner_->cut(rows, at, max_windows, out));
    std::size_t axis = 0;
    for (WindowSpan& span : out.spans_from(before)) {
      const std::int64_t index = span.element - rows.first_element;
      widen(span, widths_[axis], rows.lengths[static_cast<std::size_t>(index) * widths_.size() + axis]);
      axis = axis + 1 == widths_.size() ? 0 : axis + 1;
    }
    return end;
  }

 private:
  /// Frames of the element where there are some, else padding.
  static void widen(WindowSpan& span, const FramesAround& width, std::int64_t length) {
    const std::int64_t after = length - span.start - span.length;
    const std::int64_t left = std::min(width.left, span.start);
    const std::int64_t right = std::min(width.right, after);
    span.start -= left;
    span.length += left + right;
    span.pad_left = static_cast<std::int32_t>(width.left - left);
    span.pad_right += static_cast<std::int32_t>(width.right - right);  // after that of a segment
  }

  const std::shared_ptr<const WindowCutter> inner_;
  const std::vector<FramesAround> widths_;
};

Result<Windowing> bind(const Context& options, const Schema& in, const Windowing* before) {
  if (before != nullptr && before->grain != WindowGrain::sequences)
    return bad_window("`context` widens windows over sequences, and the step before cuts windows over a part");
  if (before != nullptr && before->frames)
    return bad_window("`context` widens windows that have a time axis, and the step before leaves it out");
  if (before != nullptr && !options.keys.empty() && !std::ranges::equal(options.keys, made_names(*before)))
    return bad_window("the keys are those of the window step before").at(Field{"keys"});
  Windowing out;
  if (before != nullptr) {
    out = *before;
  } else {
    FOREBAY_TRY(out, whole_sequences(options.keys, in));
  }
  FOREBAY_TRY(auto widths, frames_around({options.window, options.left, options.right}, made_names(out)));
  for (std::size_t key = 0; key < out.made.size(); ++key) {
    ColumnSpec spec = out.out[out.made[key]];
    std::vector<std::int64_t> sizes = spec.shape.dims();
    if (sizes.front() == unknown_dim || widths[key].left + widths[key].right == 0) continue;
    sizes.front() += widths[key].left + widths[key].right;
    spec.shape = Shape{std::move(sizes)};
    out.made[key] = out.out.put(std::move(spec));
  }
  out.cutter = std::make_shared<ContextCutter>(out.cutter, std::move(widths));
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType context() {
  WindowType out = with_names(
      describe<WindowType, Context>(
          "context", "Widens windows by the frames around them, and by padding where the sequence ends.", bind)
          .field("keys", &Context::keys,
                 "Tensors with a time axis, if no window step comes before; empty: all whose first "
                 "size is unknown.")
          .field("window", &Context::window,
                 "Total width, the frame itself included; an even one has one frame more on the right. A number is for "
                 "`data`, else for the first key.")
          .field("left", &Context::left, "Instead of `window`: frames before, by key.")
          .field("right", &Context::right, "Frames after, by key.")
          .example({.options = R"({"window": 3})", .in = "[4, 1]", .out = "[6, 3]"}));
  out.widens = out.of_windows = true;
  return out;
}

}  // namespace forebay::windows
