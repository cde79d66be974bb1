// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <forebay/order.h>

#include "engine/order/files/open_files.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// The lengths of elements along the time axes of the columns that are cut: from the shape of the column, from a row
/// block, or from the attributes of records. Used on the thread of the order plane.
class ElementLengths {
 public:
  /// `program`, which has windows, and `files` outlive this object.
  ElementLengths(const Program& program, OpenFiles& files);

  [[nodiscard]] std::size_t keys() const { return lengths_.size(); }
  /// Appends the lengths of each element, key by key. Fails with Code::cancelled when interrupted; then nothing is
  /// appended, and the caller may repeat the call.
  [[nodiscard]] Result<void> read(std::span<const Handle> elements, std::vector<std::int64_t>& out);
  /// Estimates the bytes of one frame on all axes.
  [[nodiscard]] static double frame_bytes(const Handle& element, std::span<const std::int64_t> lengths);

 private:
  void read_rows(std::size_t key, std::span<const Handle> elements, std::int64_t* out) const;

  const Program& program_;
  OpenFiles& files_;
  const std::vector<KeyLength>& lengths_;
  std::vector<std::int64_t> values_;  // of one attribute
};

}  // namespace forebay::engine
