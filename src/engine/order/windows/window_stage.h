// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forebay/order.h>

#include "engine/order/windows/window_reader.h"

namespace forebay::engine {

/// The window stage of plans with windows over sequences: handles of elements → handles of windows. Each element is a
/// sequence of its own.
///
///     upstream ─► pulled_ (16 elements), their lengths ─► WindowCutter::cut ─► one slot ─► windows_ ─► out
///
/// The run owns the stage; one thread at a time calls it. The windows before an error come first.
class WindowStage final : public Handles {
 public:
  /// `program`, which has windows, `files` and `reader` outlive the stage.
  WindowStage(const Program& program, OpenFiles& files, WindowReader& reader, std::unique_ptr<Handles> upstream);

  void begin(std::int64_t epoch) override;
  Result<std::size_t> pull(std::span<Handle> out) override;

 private:
  [[nodiscard]] Result<bool> more();  // false: the end of the pass
  [[nodiscard]] Result<void> cut();
  [[nodiscard]] Result<bool> cut_element(std::size_t index, SpanTable& made);
  void clear();

  const Program& program_;
  OpenFiles& files_;
  WindowReader& reader_;
  ElementLengths lengths_;
  const std::unique_ptr<Handles> upstream_;
  const Ask ask_;  // the function of the program that the cutter asks
  std::int64_t epoch_ = 0;
  std::vector<Handle> pulled_;                   // elements that are being cut
  std::vector<std::int64_t> frames_;             // [pulled_, keys]; empty: not known yet
  std::size_t at_ = 0;                           // in pulled_: the element to cut
  WindowCursor cursor_;                          // in that element
  std::optional<WindowTable::Element> current_;  // the element at_, when earlier slots have windows of it
  std::vector<WindowTable::Element> elements_;   // of the slot that is being made
  std::optional<Error> broken_;                  // reported after windows_
  std::vector<Handle> windows_;                  // cut and not handed out
  std::size_t next_ = 0;                         // in windows_
};

}  // namespace forebay::engine
