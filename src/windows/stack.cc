// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/stack.h>

#include "windows/around.h"
#include "windows/keys.h"

namespace forebay::windows {
namespace {

/// The shape of windows of `shape` whose frames are `width` frames side by side, along their first axis.
Result<Shape> stacked_shape(const ColumnSpec& spec, std::int64_t width) {
  std::vector<std::int64_t> sizes = spec.shape.dims();
  if (sizes.size() == 1) sizes.push_back(1);
  for (std::size_t axis = 1; axis < sizes.size(); ++axis) {
    if (sizes[axis] == unknown_dim)
      return bad_window("the frames of '" + spec.name + "' differ in size, and only frames of one size can be stacked");
  }
  bool large = __builtin_mul_overflow(sizes[1], width, &sizes[1]);
  std::int64_t elements = 1;  // of a frame
  for (std::size_t axis = 1; axis < sizes.size(); ++axis)
    large = large || __builtin_mul_overflow(elements, sizes[axis], &elements);
  if (large || elements > max_window_frames)
    return bad_window(std::to_string(width) + " frames of '" + spec.name + "' side by side are too many");
  return Shape{std::move(sizes)};
}

Result<Windowing> bind(const Stack& options, const Schema& in, const Windowing* before) {
  if (before != nullptr && before->grain != WindowGrain::sequences)
    return bad_window("`stack` needs windows over sequences, and the step before cuts windows over a part");
  if (before != nullptr && before->frames)
    return bad_window("`stack` needs windows that have a time axis, and the step before leaves it out");
  if (before != nullptr && !before->stacked.empty())
    return bad_window("frames are stacked once; leave one `stack` out");
  if (before != nullptr && !options.keys.empty() && !std::ranges::equal(options.keys, made_names(*before)))
    return bad_window("the keys are those of the window step before").at(Field{"keys"});
  Windowing out;
  if (before != nullptr) {
    out = *before;
  } else {
    FOREBAY_TRY(out, whole_sequences(options.keys, in));
  }
  FOREBAY_TRY(out.stacked, frames_around({options.window, options.left, options.right}, made_names(out)));
  for (std::size_t key = 0; key < out.made.size(); ++key) {
    const FramesAround& around = out.stacked[key];
    if (around.left + around.right == 0) continue;
    ColumnSpec spec = out.out[out.made[key]];
    FOREBAY_TRY(spec.shape, stacked_shape(spec, around.left + 1 + around.right));
    out.made[key] = out.out.put(std::move(spec));
  }
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType stack() {
  WindowType out = with_names(
      describe<WindowType, Stack>(
          "stack", "Puts the frames around each frame beside it; those outside the sequence are padding.", bind)
          .field("keys", &Stack::keys,
                 "Tensors with a time axis, if no window step comes before; empty: all whose first size is unknown.")
          .field(
              "window", &Stack::window,
              "Frames side by side, the frame itself included; of an even number one more comes after it. A number is "
              "for `data`, else for the first key.")
          .field("left", &Stack::left, "Instead of `window`: frames before, by key.")
          .field("right", &Stack::right, "Frames after, by key.")
          .example({.options = R"({"window": 3})", .in = "[4, 1]", .out = "[4, 1]"}));
  out.widens = true;
  return out;
}

}  // namespace forebay::windows
