// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <forebay/describe.h>
#include <forebay/field_types.h>

namespace forebay {

/// Scope of the draw of a window's length and stride.
enum class WindowDraw : std::uint8_t {
  per_window,  ///< Each window has its own.
  per_file,    ///< All windows of a part share them during a pass.
};

/// Handling of the frames at the end that do not fill a window.
enum class WindowTail : std::uint8_t {
  drop,         ///< They are left out.
  keep_if_min,  ///< They are a last, shorter window if there are at least `min_window` of them.
  keep,         ///< They are a last, shorter window.
};

/// Cuts windows out of the records of a part, one after the other along their first axis.
struct Continuous {
  std::vector<TensorName> keys;            ///< Tensors to cut; empty: all whose first size is unknown.
  std::int64_t min_window = 1;             ///< Frames.
  std::int64_t max_window = 1;             ///< Frames; a window's length is drawn uniformly from min to max.
  std::optional<std::int64_t> stride;      ///< Frames from window to window; left out: the window's length.
  std::optional<std::int64_t> min_stride;  ///< Instead of `stride`: drawn uniformly …
  std::optional<std::int64_t> max_stride;  ///< … from min to max.
  WindowDraw window_draw = WindowDraw::per_window;
  WindowTail tail = WindowTail::drop;
  std::optional<NewTensorName> number;  ///< Name of a column: the number of the window.
  std::optional<NewTensorName> start;   ///< Name of a column: the first frame of the window in its record.
};

template <>
struct EnumNames<WindowDraw> {
  static constexpr std::array<std::string_view, 2> names{"per_window", "per_file"};
};
template <>
struct EnumNames<WindowTail> {
  static constexpr std::array<std::string_view, 3> names{"drop", "keep_if_min", "keep"};
};

}  // namespace forebay
