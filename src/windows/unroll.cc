// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/unroll.h>

#include "windows/keys.h"

namespace forebay::windows {
namespace {

/// Segments of sequences. The table has one axis for each key, and all axes have the same spans.
class UnrollCutter final : public WindowCutter {
 public:
  UnrollCutter(std::int64_t frames, bool pads, std::vector<std::string> keys)
      : frames_{frames}, pads_{pads}, keys_{std::move(keys)} {}

  Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                     SpanTable& out) const override {
    FOREBAY_TRY(const std::size_t elements, count_elements(rows, keys_.size()));
    return each_sequence(rows, elements, at, max_windows, out,
                         [&](std::size_t index, std::int64_t first, std::int64_t room) -> Result<bool> {
                           const std::int64_t element = rows.first_element + static_cast<std::int64_t>(index);
                           const auto lengths = rows.lengths.subspan(index * keys_.size(), keys_.size());
                           FOREBAY_DO(check(element, lengths));
                           const std::int64_t length = lengths.front();
                           const std::int64_t count = length / frames_ + (length % frames_ != 0 ? 1 : 0);
                           const std::int64_t last = first + std::min(room, count - first);
                           for (std::int64_t number = first; number < last; ++number)
                             add(element, length, number, count, out);
                           return last == count;
                         });
  }

 private:
  [[nodiscard]] Result<void> check(std::int64_t element, std::span<const std::int64_t> lengths) const {
    for (std::size_t i = 1; i < lengths.size(); ++i) {
      if (lengths[i] == lengths[0]) continue;
      return bad_element(element, "'" + keys_[0] + "' has the length " + std::to_string(lengths[0]) + ", '" + keys_[i] +
                                      "' has the length " + std::to_string(lengths[i]) +
                                      "; all keys of a sequence have the same length, and `keys` names them");
    }
    if (lengths.front() > 0) return {};
    return bad_element(element,
                       "the sequence has no frames, and `unroll` cuts at least one segment of each; leave "
                       "such sequences out with a filter before it: length(" +
                           keys_[0] + ") > 0");
  }

  void add(std::int64_t element, std::int64_t length, std::int64_t number, std::int64_t count, SpanTable& out) const {
    out.begin(number, count);
    const std::int64_t start = number * frames_;
    const std::int64_t own = std::min(frames_, length - start);
    const auto padding = static_cast<std::int32_t>(pads_ ? frames_ - own : 0);
    for (std::size_t key = 0; key < keys_.size(); ++key)
      out.add({.element = element, .start = start, .length = own, .pad_right = padding});
  }

  const std::int64_t frames_;
  const bool pads_;
  const std::vector<std::string> keys_;
};

Result<Windowing> bind(const Unroll& options, const Schema& in, const Windowing* before) {
  if (before != nullptr) return bad_window("`unroll` cuts sequences, not windows: it is the only window step");
  FOREBAY_TRY(Windowing out, find_keys(options.keys, in));
  make_columns(out, in, options.pad.value_or(true) ? options.num_unroll : unknown_dim);
  out.axes = out.keys.size();
  out.counts = true;
  out.cutter = std::make_shared<UnrollCutter>(options.num_unroll, options.pad.value_or(true), key_names(out, in));
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType unroll() {
  WindowType out = with_names(
      describe<WindowType, Unroll>(
          "unroll", "Cuts sequences into segments of one size, the last one padded, for state that follows them.", bind)
          .required("num_unroll", &Unroll::num_unroll, "Frames of a segment.", {.min = 1, .max = 1'000'000})
          .field("keys", &Unroll::keys, "Tensors to cut, equally long; empty: all whose first size is unknown.")
          .field("pad", &Unroll::pad,
                 "Whether the last segment of a sequence is padded, else it has the frames that are left; left out: "
                 "padded, unless windows are cut of the segments.")
          .example({.options = R"({"num_unroll": 2})", .in = "[5, 1]", .out = "[2, 2, 2, 2]"}));
  out.pads = true;
  return out;
}

}  // namespace forebay::windows
