// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/bind/bound_columns.h"

namespace forebay::plan {

/// Binds the window steps of a document, and the attributes of the orders that come after them. Lives for one call on
/// the caller's thread.
class WindowBinder {
 public:
  /// The arguments outlive this object. `rows`: null when records are decoded.
  WindowBinder(const Stages& stages, const RowSource* rows, BoundColumns& columns, Faults& faults)
      : stages_{stages}, rows_{rows}, columns_{columns}, faults_{faults} {}

  /// Binds the window steps that stand at this place: after `steps` steps and `orders` orders of records.
  void bind(std::size_t steps, std::size_t orders);
  /// Binds the attributes of an order or batcher after the windows. Each is either over lengths of windows, or over
  /// columns that are not cut, or, when the windows are single frames, over values of frames.
  void bind_attributes(const std::vector<Attribute>& attributes, const Stage& stage);

 private:
  void bind_item(const WindowItem& item);
  [[nodiscard]] bool fits(const WindowItem& item, const Windowing& windowing);
  void add_lengths(const WindowItem& item);
  void take_columns();
  [[nodiscard]] Result<engine::WindowAttribute> bind_attribute(const Stage& stage, const Attribute& attribute);
  [[nodiscard]] Result<engine::WindowAttribute> bind_frames(const Stage& stage, const Attribute& attribute,
                                                            expression::Expression bound);

  const Stages& stages_;
  const RowSource* const rows_;
  BoundColumns& columns_;
  Faults& faults_;
};

}  // namespace forebay::plan
