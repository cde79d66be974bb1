// SPDX-License-Identifier: Apache-2.0
#include "windows/around.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "windows/keys.h"

namespace forebay::windows {

namespace {

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

Result<void> check_width(std::int64_t frames, const std::string& key, const std::string& option) {
  if (frames >= 0 && frames <= max_pad) return {};
  return bad_window("`" + option + "` of '" + key + "' is " + std::to_string(frames) + ", allowed are 0 to " +
                    std::to_string(max_pad))
      .at(Field{option});
}

/// Sets one side of the widths that `frames` names.
Result<void> set_side(const std::optional<FramesOfKeys>& frames, const std::vector<std::string>& names,
                      const std::string& option, std::int64_t FramesAround::*side, std::vector<FramesAround>& out) {
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

}  // namespace

Result<std::vector<FramesAround>> frames_around(const AroundOptions& options, const std::vector<std::string>& names) {
  if (options.window.has_value() == (options.left || options.right))
    return bad_window("give `window`, or `left` and `right`").at(Field{"window"});
  std::vector<FramesAround> out(names.size());
  FOREBAY_DO(set_side(options.left, names, "left", &FramesAround::left, out));
  FOREBAY_DO(set_side(options.right, names, "right", &FramesAround::right, out));
  if (!options.window) return out;
  FramesOfKeys totals;
  if (const auto* const total = std::get_if<std::int64_t>(&*options.window)) {
    const auto data = std::find(names.begin(), names.end(), "data");
    totals.emplace_back(data == names.end() ? names.front() : *data, *total);
  } else {
    totals = std::get<FramesOfKeys>(*options.window);
  }
  std::vector<FramesAround> extra(names.size());
  FOREBAY_DO(set_side(totals, names, "window", &FramesAround::left, extra));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t total = std::max<std::int64_t>(extra[i].left, 1) - 1;
    out[i] = {.left = total / 2, .right = total - total / 2};
  }
  return out;
}

Result<Windowing> whole_sequences(const std::vector<TensorName>& keys, const Schema& in) {
  FOREBAY_TRY(Windowing out, find_keys(keys, in));
  out.axes = out.keys.size();
  make_columns(out, in, unknown_dim);
  out.cutter = std::make_shared<SequenceCutter>(out.keys.size());
  return out;
}

std::vector<std::string> made_names(const Windowing& windowing) {
  std::vector<std::string> names;
  for (const ColumnId column : windowing.made) names.push_back(windowing.out[column].name);
  return names;
}

}  // namespace forebay::windows
