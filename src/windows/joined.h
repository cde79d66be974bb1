// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/windows/continuous.h>

#include "base/draw.h"

/// What the windows over the records of a part have in common.
namespace forebay::windows {

/// The size from `min` to `max` that random bits stand for.
[[nodiscard]] inline std::int64_t size_within(std::uint64_t bits, std::int64_t min, std::int64_t max) {
  return min + static_cast<std::int64_t>(below(bits, static_cast<std::uint64_t>(max - min) + 1));
}

/// The index of the draw that serves a window.
[[nodiscard]] inline std::uint64_t draw_index(WindowDraw draw, std::int64_t window) {
  return draw == WindowDraw::per_file ? 0 : static_cast<std::uint64_t>(window);
}

/// Whether `left` frames or records at the end, which are too few, are a last, shorter window.
[[nodiscard]] inline bool is_last_window(WindowTail tail, std::int64_t left, std::int64_t min_window) {
  if (tail == WindowTail::drop || left == 0) return false;
  return tail == WindowTail::keep || left >= min_window;
}

}  // namespace forebay::windows
