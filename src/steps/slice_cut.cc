// SPDX-License-Identifier: Apache-2.0
#include "steps/slice_cut.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

namespace forebay::steps {

namespace {

Error fault(const SliceItem& item, std::string message) {
  return Error{Code::config, Detail::invalid_argument, fmt::format("column {}: {}", item.column, message)};
}

struct Picked {
  std::int64_t first, count, step;
};

/// Python's slice.indices. No sum overflows: the size is added only to negative numbers.
Picked pick(const SliceItem& range, std::int64_t size) {
  const std::int64_t step = std::max(range.step.value_or(1), -std::numeric_limits<std::int64_t>::max());
  const std::int64_t min = step < 0 ? -1 : 0;
  const std::int64_t max = step < 0 ? size - 1 : size;
  const auto place = [&](std::int64_t at) { return std::clamp(at < 0 ? at + size : at, min, max); };
  const std::int64_t first = range.start ? place(*range.start) : (step < 0 ? max : min);
  const std::int64_t end = range.stop ? place(*range.stop) : (step < 0 ? min : max);
  const std::int64_t span = step < 0 ? first - end : end - first;
  return {first, span <= 0 ? 0 : (span - 1) / (step < 0 ? -step : step) + 1, step};
}

Result<std::int64_t> position(const SliceItem& item, std::int64_t size) {
  const std::int64_t index = *item.index;
  if (index >= size || index < -size) {
    return fault(item, fmt::format("index {} is outside an axis of {} elements", index, size));
  }
  return index < 0 ? index + size : index;
}

}  // namespace

std::int64_t kept_of(const SliceItem& range, std::int64_t size) { return pick(range, size).count; }

Result<Shape> cut_shape(const Shape& shape, std::span<const SliceItem> items) {
  if (items.size() > shape.rank()) {
    return fault(items[shape.rank()],
                 fmt::format("too many dimensions for slice: expected {}, got {}", shape.rank(), items.size()));
  }
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t size = shape[axis];
    if (axis >= items.size()) {
      dims.push_back(size);
    } else if (const SliceItem& item = items[axis]; item.step == 0) {
      return fault(item, "the step of a range must not be 0");
    } else if (!item.index) {
      dims.push_back(size == unknown_dim ? size : kept_of(item, size));
    } else if (size != unknown_dim) {
      FOREBAY_DO(position(item, size));
    }
  }
  return Shape{std::move(dims)};
}

Result<columns::Strided> cut_row(std::span<const std::int64_t> row, std::span<const SliceItem> items) {
  columns::Strided selection;
  if (std::find(row.begin(), row.end(), 0) != row.end()) {  // the product of the other sizes may be meaningless
    for (std::size_t axis = 0; axis < items.size(); ++axis) {
      if (items[axis].index) FOREBAY_DO(position(items[axis], row[axis]));
    }
    selection.wrap(0, 1);
    return selection;
  }
  std::int64_t apart = 1;  // elements between neighbours on the axis
  for (std::size_t axis = row.size(); axis-- > 0;) {
    const std::int64_t size = row[axis];
    if (axis >= items.size()) {
      selection.wrap(size, apart);
    } else if (const SliceItem& item = items[axis]; item.index) {
      FOREBAY_TRY(const std::int64_t at, position(item, size));
      selection.shift(at * apart);
    } else {
      const Picked picked = pick(item, size);
      if (picked.count > 0) selection.shift(picked.first * apart);
      selection.wrap(picked.count, picked.count > 1 ? picked.step * apart : apart);
    }
    apart *= size;
  }
  return selection;
}

}  // namespace forebay::steps
