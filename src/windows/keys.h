// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <forebay/field_types.h>
#include <forebay/window.h>

#include "base/draw.h"

/// What all window plug-ins do with the names of tensors.
namespace forebay::windows {

[[nodiscard]] Error bad_window(const std::string& message);  ///< A fault of the options.

/// Frames that an option may ask for: sums of several of them never overflow.
inline constexpr std::int64_t max_window_frames = std::int64_t{1} << 48;
/// Frames of padding on one side.
inline constexpr std::int64_t max_pad = 0x7fffffff;

/// Finds the columns that are cut: `names`, or all visible ones whose first size is unknown. The others are whole.
/// Fails when a column has no time axis or companions, or when there is none to cut.
[[nodiscard]] Result<Windowing> find_keys(const std::vector<TensorName>& names, const Schema& in);

/// Adds the columns that hold the windows: those of the keys, with `frames` as their first size.
void make_columns(Windowing& windowing, const Schema& in, std::int64_t frames);

/// Adds the columns of windows that are single frames: those of the keys, without their first axis.
void make_frame_columns(Windowing& windowing, const Schema& in);

/// Adds a column of windows; nothing without a name. `size`: of a column with an axis, if all windows have that many.
/// Fails when there is a tensor of that name.
[[nodiscard]] Result<void> add_generated(const std::optional<NewTensorName>& name, Generated kind,
                                         const std::string& option, Windowing& windowing,
                                         std::int64_t size = unknown_dim);

/// Adds the columns that the options of `with_names` ask for, after those of the keys.
template <class Options>
[[nodiscard]] Result<void> add_named(const Options& options, Windowing& windowing) {
  FOREBAY_DO(add_generated(options.number, Generated::window, "number", windowing));
  return add_generated(options.start, Generated::start, "start", windowing);
}

/// The type of a window plug-in, with the options that all of them have.
template <class Options>
[[nodiscard]] WindowType with_names(Describer<WindowType, Options>& describer) {
  return describer
      .field("number", &Options::number,
             "Makes an int64 tensor of this name: the number of the window, in its record or, for windows that join "
             "records, in its file; -1 in an empty row.")
      .field("start", &Options::start,
             "Makes an int64 tensor of this name: the first frame of the window in its first record, which padding is "
             "not; -1 in an empty row.");
}

/// The names of the keys, in order.
[[nodiscard]] std::vector<std::string> key_names(const Windowing& windowing, const Schema& in);

/// Fails when `lengths` are not those of whole elements, or when one is negative.
[[nodiscard]] Result<std::size_t> count_elements(const WindowRows& rows, std::size_t keys);

/// Fails when the keys of one element differ in length. `rule` begins the sentence that ends with "the same first
/// size".
[[nodiscard]] Result<void> check_equal(const std::vector<std::string>& names, std::span<const std::int64_t> lengths,
                                       std::int64_t element, const std::string& rule);

/// An error about one element.
[[nodiscard]] Error bad_element(std::int64_t element, const std::string& message);

/// What all draws of one part in one pass have in common; `draw_at` adds the number of the window or record.
[[nodiscard]] inline std::uint64_t place_key(const WindowPlace& place) {
  return mix(draw_key({.seed = place.seed, .epoch = place.epoch, .purpose = place.purpose}) + mix(place.part));
}

/// Calls each(index of an element in `rows`, at.window, room) for one element after the other; `each` appends at most
/// `room` windows and returns whether the element is done. Moves the cursor.
template <class Each>
Result<CutEnd> each_sequence(const WindowRows& rows, std::size_t elements, WindowCursor& at, std::int64_t max_windows,
                             SpanTable& out, Each each) {
  const std::size_t before = out.size();
  if (at.position < rows.first_element) at = {.position = rows.first_element, .window = 0};
  while (at.position - rows.first_element < static_cast<std::int64_t>(elements)) {
    const std::size_t size = out.size();
    const std::int64_t room = max_windows - static_cast<std::int64_t>(size - before);
    FOREBAY_TRY(const bool done, each(static_cast<std::size_t>(at.position - rows.first_element), at.window, room));
    at.window += static_cast<std::int64_t>(out.size() - size);
    if (!done) return CutEnd::full;
    ++at.position;
    at.window = 0;
  }
  return CutEnd::needs_rows;
}

}  // namespace forebay::windows
