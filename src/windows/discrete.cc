// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/discrete.h>

#include "windows/joined.h"
#include "windows/keys.h"

namespace forebay::windows {
namespace {

/// Windows of whole records. The table has an axis for each key.
class DiscreteCutter final : public WindowCutter {
 public:
  DiscreteCutter(Discrete options, std::size_t keys) : options_{std::move(options)}, keys_{keys} {}

  Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                     SpanTable& out) const override {
    FOREBAY_TRY(const std::size_t elements, count_elements(rows, keys_));
    if (rows.first_frame > at.position)
      return Error{Code::internal, "the elements begin with number " + std::to_string(rows.first_frame) +
                                       ", after that of the next window, which is " + std::to_string(at.position)};
    const std::int64_t end = rows.first_frame + static_cast<std::int64_t>(elements);
    const std::uint64_t key = place_key(rows.place);
    for (std::int64_t made = 0;; ++made) {
      const std::int64_t left = end - at.position;
      const std::int64_t size = size_within(draw_at(key, draw_index(options_.window_draw, at.window)),
                                            options_.min_window, options_.max_window);
      const bool tail = left < size;
      if (tail && !(rows.ends && is_last_window(options_.tail, left, options_.min_window))) return CutEnd::needs_rows;
      if (made == max_windows) return CutEnd::full;
      out.begin(at.window++);
      add(rows, at.position - rows.first_frame, tail ? left : size, out);
      at.position += tail ? left : size;
    }
  }

 private:
  void add(const WindowRows& rows, std::int64_t first, std::int64_t count, SpanTable& out) const {
    for (std::int64_t i = first; i < first + count; ++i) {
      const auto lengths = rows.lengths.subspan(static_cast<std::size_t>(i) * keys_, keys_);
      for (const std::int64_t length : lengths) out.add({.element = rows.first_element + i, .length = length});
    }
  }

  const Discrete options_;
  const std::size_t keys_;
};

Result<Windowing> bind(const Discrete& options, const Schema& in, const Windowing* before) {
  if (options.min_window > options.max_window)
    return bad_window("min_window " + std::to_string(options.min_window) + " exceeds max_window " +
                      std::to_string(options.max_window))
        .at(Field{"min_window"});
  if (before != nullptr) return bad_window("`discrete` joins records, not windows: it is the first window step");
  FOREBAY_TRY(Windowing out, find_keys(options.keys, in));
  make_columns(out, in, unknown_dim);
  out.grain = WindowGrain::parts;
  out.axes = out.keys.size();
  out.by_element = true;
  out.draws = options.min_window < options.max_window;
  out.cutter = std::make_shared<DiscreteCutter>(options, out.keys.size());
  const bool one_size = options.min_window == options.max_window && options.tail != WindowTail::keep;
  FOREBAY_DO(add_generated(options.splits, Generated::cu_seqlens, "splits", out,
                           one_size ? options.min_window + 1 : unknown_dim));
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType discrete() {
  constexpr Range records{.min = 1, .max = 1'000'000'000};
  return with_names(
      describe<WindowType, Discrete>("discrete",
                                     "Makes windows of whole records of a part, joined along their first axis.", bind)
          .field("keys", &Discrete::keys, "Tensors to join; empty: all whose first size is unknown.")
          .required("min_window", &Discrete::min_window, "Least number of records of a window.", records)
          .required("max_window", &Discrete::max_window, "Greatest number of records; drawn uniformly.", records)
          .field("window_draw", &Discrete::window_draw, "Draw for each window, or once for each file and pass.")
          .field("tail", &Discrete::tail, "What becomes of records at the end that do not fill a window.")
          .field("splits", &Discrete::splits,
                 "Makes an int32 tensor of this name: the frame of the first key at which each record of the window "
                 "begins, and the end of the last one.")
          .example({.options = R"({"min_window": 2, "max_window": 2})", .in = "[2, 3, 1, 2, 1]", .out = "[5, 3]"}));
}

}  // namespace forebay::windows
