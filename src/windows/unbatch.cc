// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/unbatch.h>

#include "windows/keys.h"

namespace forebay::windows {
namespace {

/// Windows of one frame. The table has one axis: all keys have the same lengths.
class UnbatchCutter final : public WindowCutter {
 public:
  explicit UnbatchCutter(std::vector<std::string> names) : names_{std::move(names)} {}

  Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                     SpanTable& out) const override {
    FOREBAY_TRY(const std::size_t elements, count_elements(rows, names_.size()));
    return each_sequence(
        rows, elements, at, max_windows, out,
        [&](std::size_t index, std::int64_t first, std::int64_t room) -> Result<bool> {
          const std::int64_t element = rows.first_element + static_cast<std::int64_t>(index);
          const auto lengths = rows.lengths.subspan(index * names_.size(), names_.size());
          FOREBAY_DO(check_equal(names_, lengths, element, "tensors that are unbatched together have"));
          const std::int64_t last = first + std::min(room, lengths[0] - first);
          for (std::int64_t frame = first; frame < last; ++frame) {
            out.begin(frame);
            out.add({.element = element, .start = frame, .length = 1});
          }
          return last == lengths[0];
        });
  }

 private:
  const std::vector<std::string> names_;
};

Result<Windowing> bind(const Unbatch& options, const Schema& in, const Windowing* before) {
  if (before != nullptr) return bad_window("`unbatch` divides records, not windows: it is the only window step");
  FOREBAY_TRY(Windowing out, find_keys(options.keys, in));
  make_frame_columns(out, in);
  out.cutter = std::make_shared<UnbatchCutter>(key_names(out, in));
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType unbatch() {
  return with_names(
      describe<WindowType, Unbatch>(
          "unbatch", "Makes a row of each frame of a record; the first axis is left out of the rows.", bind)
          .field(
              "keys", &Unbatch::keys,
              "Tensors to divide, all of the same length in a record; empty: all whose first size is unknown. Each row "
              "gets the other tensors entirely.")
          .example({.options = "{}", .in = "[3, 0, 1]", .out = "[1, 1, 1, 1]"}));
}

}  // namespace forebay::windows
