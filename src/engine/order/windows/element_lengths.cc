// SPDX-License-Identifier: Apache-2.0
#include "engine/order/windows/element_lengths.h"

#include <algorithm>

namespace forebay::engine {

ElementLengths::ElementLengths(const Program& program, OpenFiles& files)
    : program_{program}, files_{files}, lengths_{program.windows->lengths} {}

Result<void> ElementLengths::read(std::span<const Handle> elements, std::vector<std::int64_t>& out) {
  const std::size_t before = out.size();
  out.resize(before + elements.size() * keys());
  values_.resize(elements.size());
  for (std::size_t key = 0; key < keys(); ++key) {
    std::int64_t* const first = out.data() + before + key;
    if (lengths_[key].constant) {
      for (std::size_t i = 0; i < elements.size(); ++i) first[i * keys()] = *lengths_[key].constant;
    } else if (program_.source.rows) {
      read_rows(key, elements, first);
    } else {
      const auto done = files_.attributes(lengths_[key].attribute, elements, values_);
      if (!done.ok()) return out.resize(before), done.error();
      for (std::size_t i = 0; i < elements.size(); ++i) first[i * keys()] = values_[i];
    }
  }
  return {};
}

/// The sizes of the first axis in row blocks.
void ElementLengths::read_rows(std::size_t key, std::span<const Handle> elements, std::int64_t* out) const {
  const auto column = static_cast<std::size_t>(program_.windows->windowing.keys[key]);
  const Shape& shape = program_.source.rows->schema[static_cast<ColumnId>(column)].shape;
  const auto unknown = static_cast<std::int64_t>(shape.unknown());
  std::int64_t inner = 1;  // elements of a frame, when only the first dim is unknown
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) inner *= shape[axis];
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const RowColumn& in = files_.table()[elements[i].block].rows->columns[column];
    const auto row = static_cast<std::int64_t>(files_.table().row_of(elements[i]));
    if (in.dims != nullptr) {
      out[i * keys()] = in.dims[row * unknown];
    } else {
      out[i * keys()] = inner == 0 ? 0 : (in.row_splits[row + 1] - in.row_splits[row]) / inner;
    }
  }
}

double ElementLengths::frame_bytes(const Handle& element, std::span<const std::int64_t> lengths) {
  std::int64_t frames = 0;
  for (const std::int64_t length : lengths) frames += length;
  return static_cast<double>(element.length) / static_cast<double>(std::max<std::int64_t>(frames, 1));
}

}  // namespace forebay::engine
