// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <forebay/column.h>

/// Copies rectangular selections out of row-major arrays.
namespace forebay::columns {

inline constexpr std::size_t max_rank = 16;

/// A selection of elements of an array: runs of neighbours, repeated along axes. Built from the inside out; axes that
/// continue each other are merged, so that the walk is as flat as the selection allows.
class Strided {
 public:
  /// Adds one more outer axis: the selection so far, `count` times, `step` elements apart. At most max_rank + 1 of
  /// them.
  void wrap(std::int64_t count, std::int64_t step);
  /// Moves the whole selection by that number of elements.
  void shift(std::int64_t elements) { first_ += elements; }

  [[nodiscard]] std::int64_t count() const;  ///< Elements selected.
  [[nodiscard]] std::int64_t run() const { return run_; }

  /// Calls visit(offset, times, step) in row-major order: runs of run() elements at offset, offset + step, …
  template <class Visit>
  void walk(Visit visit) const;

 private:
  struct Axis {
    std::int64_t count, step;
  };
  std::int64_t first_ = 0;
  std::int64_t run_ = 1;
  std::size_t rank_ = 0;
  std::array<Axis, max_rank + 1> axes_;  // innermost first
};

/// Copies the selected elements of `size` bytes each to `out`, one after the other.
void copy_strided(const std::byte* in, std::size_t size, const Strided& selection, std::byte* out);

/// Appends the selected elements of a string column to `out`. The caller ends the rows.
void append_strings(const Column& in, const Strided& selection, Column& out);

template <class Visit>
void Strided::walk(Visit visit) const {
  if (count() == 0) return;
  if (rank_ == 0) return visit(first_, std::int64_t{1}, std::int64_t{0});
  std::array<std::int64_t, max_rank + 1> at{};
  std::int64_t offset = first_;
  for (;;) {
    visit(offset, axes_[0].count, axes_[0].step);
    std::size_t axis = 1;
    for (; axis < rank_; ++axis) {
      offset += axes_[axis].step;
      if (++at[axis] < axes_[axis].count) break;
      offset -= axes_[axis].step * axes_[axis].count;
      at[axis] = 0;
    }
    if (axis == rank_) return;
  }
}

}  // namespace forebay::columns
