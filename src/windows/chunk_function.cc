// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/window.h>
#include <forebay/windows/chunk_function.h>

#include <array>

#include "windows/keys.h"

namespace forebay::windows {
namespace {

/// The chunks that a function of the program gives for each sequence. The table has one axis: all keys have the same
/// lengths. `cut` fails with Code::cancelled while there is no answer.
class AskedChunks final : public WindowCutter {
 public:
  AskedChunks(std::string function, std::vector<std::string> keys)
      : function_{std::move(function)}, keys_{std::move(keys)} {}

  Result<CutEnd> cut(const WindowRows& rows, WindowCursor& at, std::int64_t max_windows,
                     SpanTable& out) const override {
    FOREBAY_TRY(const std::size_t elements, count_elements(rows, keys_.size()));
    return each_sequence(rows, elements, at, max_windows, out,
                         [&](std::size_t index, std::int64_t first, std::int64_t room) -> Result<bool> {
                           if (room == 0) return false;
                           const std::int64_t element = rows.first_element + static_cast<std::int64_t>(index);
                           const auto lengths = rows.lengths.subspan(index * keys_.size(), keys_.size());
                           FOREBAY_DO(check_equal(keys_, lengths, element, "tensors that are cut together have"));
                           FOREBAY_TRY(const Function::Integers bounds, ask(rows, element, lengths.front()));
                           const auto count = std::ssize(bounds) / 2;
                           const std::int64_t last = first + std::min(room, count - first);
                           for (std::int64_t number = first; number < last; ++number) add(element, number, bounds, out);
                           return last == count;
                         });
  }

 private:
  [[nodiscard]] Result<Function::Integers> ask(const WindowRows& rows, std::int64_t element,
                                               std::int64_t length) const {
    FOREBAY_TRY(Function::Integers bounds,
                rows.ask(std::array{static_cast<std::int64_t>(rows.place.epoch),
                                    static_cast<std::int64_t>(rows.place.part), element, length}));
    if (bounds.size() % 2 != 0)
      return wrong(element, std::to_string(bounds.size()) +
                                " integers; a chunk is two of them, its first frame and the end after its last one");
    for (std::size_t i = 0; i < bounds.size(); i += 2) {
      if (bounds[i] >= 0 && bounds[i] < bounds[i + 1] && bounds[i + 1] <= length) continue;
      return wrong(element, "chunk " + std::to_string(i / 2) + " from " + std::to_string(bounds[i]) + " to " +
                                std::to_string(bounds[i + 1]) + ", and the record has " + std::to_string(length) +
                                " frames; a chunk has at least one of them");
    }
    return bounds;
  }

  [[nodiscard]] Error wrong(std::int64_t element, const std::string& what) const {
    return bad_element(element, "function '" + function_ + "' gave " + what);
  }

  static void add(std::int64_t element, std::int64_t number, const Function::Integers& bounds, SpanTable& out) {
    const auto at = static_cast<std::size_t>(2 * number);
    out.begin(number);
    out.add({.element = element, .start = bounds[at], .length = bounds[at + 1] - bounds[at]});
  }

  const std::string function_;
  const std::vector<std::string> keys_;
};

Result<Windowing> bind(const ChunkFunction& options, const Schema& in, const Windowing* before) {
  if (before != nullptr) return bad_window("`chunk_function` cuts sequences, not windows: it is the first window step");
  FOREBAY_TRY(Windowing out, find_keys(options.keys, in));
  make_columns(out, in, unknown_dim);
  out.draws = true;  // the function may give other chunks in another epoch
  out.asks = AskedFunction{.name = options.bind, .option = {"bind"}};
  out.cutter = std::make_shared<AskedChunks>(options.bind, key_names(out, in));
  FOREBAY_DO(add_named(options, out));
  return out;
}

}  // namespace

WindowType chunk_function() {
  return with_names(
      describe<WindowType, ChunkFunction>("chunk_function", "Cuts sequences where a function of the program says.",
                                          bind)
          .required(
              "bind", &ChunkFunction::bind,
              "Name of the function that the program binds: (epoch, file, record, frames) → first frame and end of "
              "each chunk.")
          .field("keys", &ChunkFunction::keys,
                 "Tensors to cut, all of the same length in a record; empty: all whose first size is unknown.")
          .example({.options = R"({"bind": "f"})", .in = "[5, 1]", .out = "[3, 2, 1]"}));
}

}  // namespace forebay::windows
