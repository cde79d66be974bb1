// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/context.h>

#include "windows/keys.h"

namespace forebay::windows {
namespace {

/// Frames around the windows of one key.
struct ContextWidth {
  std::int64_t left = 0;
  std::int64_t right = 0;
};

/// One window for each sequence.
class SequenceCutter final : public WindowCutter {
 public:
  explicit SequenceCutter(std::size_t keys) : keys_{keys} {}

  Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                     SpanTable& out) const override {
    FOREBAY_TRY(const std::size_t elements, count_elements(rows, keys_));
    return each_sequence(rows, elements, at, max_windows, out,
                         [&](std::size_t index, std::int64_t, std::int64_t room) -> Result<bool> {
                           if (room == 0) return false;
                           out.begin(0);
                           for (std::size_t key = 0; key < keys_; ++key)
                             out.add({.element = rows.first_element + static_cast<std::int64_t>(index),
                                      .length = rows.lengths[index * keys_ + key]});
                           return true;
                         });
  }

 private:
  const std::size_t keys_;
};

/// Widens what another cutter cut. One axis for each key.
class ContextCutter final : public WindowCutter {
 public:
  ContextCutter(std::shared_ptr<const WindowCutter> inner, std::vector<ContextWidth> widths)
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
  static void widen(WindowSpan& span, const ContextWidth& width, std::int64_t length) {
    const std::int64_t after = length - span.start - span.length;
    const std::int64_t left = std::min(width.left, span.start);
    const std::int64_t right = std::min(width.right, after);
    span.start -= left;
    span.length += left + right;
    span.pad_left = static_cast<std::int32_t>(width.left - left);
    span.pad_right = static_cast<std::int32_t>(width.right - right);
  }

  const std::shared_ptr<const WindowCutter> inner_;
  const std::vector<ContextWidth> widths_;
};

Result<void> check_width(std::int64_t frames, const std::string& key, const std::string& option) {
  if (frames >= 0 && frames <= max_pad) return {};
  return bad_window("the context `" + option + "` of '" + key + "' is " + std::to_string(frames) +
                    ", allowed are 0 to " + std::to_string(max_pad))
      .at(Field{option});
}

/// Sets one side of the widths that `frames` names.
Result<void> set_side(const std::optional<FramesOfKeys>& frames, const std::vector<std::string>& names,
                      const std::string& option, std::int64_t ContextWidth::*side, std::vector<ContextWidth>& out) {
  if (!frames) return {};
  for (const auto& [name, value] : *frames) {
    const auto key = std::find(names.begin(), names.end(), name);
    if (key == names.end())
      return bad_window("`" + option + "` names '" + name + "', which is not among the keys").at(Field{option, name});
    FOREBAY_DO(check_width(value, name, option));
    out[static_cast<std::size_t>(key - names.begin())].*side = value;
  }
  return {};
}

/// The widths by key. A total width counts the frame itself; an odd rest goes to the right.
Result<std::vector<ContextWidth>> widths_of(const Context& options, const std::vector<std::string>& names) {
  if (options.window.has_value() == (options.left || options.right))
    return bad_window("give `window`, or `left` and `right`").at(Field{"window"});
  std::vector<ContextWidth> out(names.size());
  FOREBAY_DO(set_side(options.left, names, "left", &ContextWidth::left, out));
  FOREBAY_DO(set_side(options.right, names, "right", &ContextWidth::right, out));
  if (!options.window) return out;
  FramesOfKeys totals;
  if (const auto* const total = std::get_if<std::int64_t>(&*options.window)) {
    const auto data = std::find(names.begin(), names.end(), "data");
    totals.emplace_back(data == names.end() ? names.front() : *data, *total);
  } else {
    totals = std::get<FramesOfKeys>(*options.window);
  }
  std::vector<ContextWidth> extra(names.size());
  FOREBAY_DO(set_side(totals, names, "window", &ContextWidth::left, extra));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t total = std::max<std::int64_t>(extra[i].left, 1) - 1;
    out[i] = {.left = total / 2, .right = total - total / 2};
  }
  return out;
}

Result<Windowing> bind(const Context& options, const Schema& in, const Windowing* before) {
  if (before != nullptr && before->grain != WindowGrain::sequences)
    return bad_window("`context` widens windows over sequences, and the step before cuts windows over a part");
  if (before != nullptr && before->frames)
    return bad_window("`context` widens windows that have a time axis, and the step before leaves it out");
  if (before != nullptr && before->counts)
    return bad_window("`context` widens windows, and the segments of `unroll` have one size; leave one of them out");
  if (before != nullptr && !options.keys.empty())
    return bad_window("the keys are those of the window step before").at(Field{"keys"});
  Windowing out;
  if (before != nullptr) {
    out = *before;
  } else {
    FOREBAY_TRY(out, find_keys(options.keys, in));
    out.axes = out.keys.size();
    make_columns(out, in, unknown_dim);
    out.cutter = std::make_shared<SequenceCutter>(out.keys.size());
  }
  std::vector<std::string> names;
  for (const ColumnId column : out.made) names.push_back(out.out[column].name);
  FOREBAY_TRY(std::vector<ContextWidth> widths, widths_of(options, names));
  out.cutter = std::make_shared<ContextCutter>(out.cutter, std::move(widths));
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType context() {
  return with_names(
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
}

}  // namespace forebay::windows
