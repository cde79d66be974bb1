// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/batch_layout.h"

#include <algorithm>

namespace forebay::engine {

std::optional<std::int64_t> BatchLayout::place_in(std::size_t branch, std::int64_t row) const {
  const std::vector<std::int64_t>& rows_of = branches[branch].row_of;
  const auto found = std::lower_bound(rows_of.begin(), rows_of.end(), row);
  if (found == rows_of.end() || *found != row) return std::nullopt;
  return found - rows_of.begin();
}

const UsedBlock& BatchLayout::block_of(std::int64_t row) const {
  const std::uint32_t slot = handles[static_cast<std::size_t>(row)].block;
  return *std::find_if(blocks.begin(), blocks.end(), [&](const UsedBlock& used) { return used.slot == slot; });
}

std::span<const columns::PlacedSpan> RowSpans::of_row(std::size_t axis, std::int64_t row) const {
  if (axis >= spans.size()) return {};
  const auto before = [](const columns::PlacedSpan& span, std::int64_t at) { return span.row < at; };
  const auto first = std::lower_bound(spans[axis].begin(), spans[axis].end(), row, before);
  const auto last = std::lower_bound(first, spans[axis].end(), row + 1, before);
  return {first, last};
}

std::int64_t BatchLayout::element_of(std::int64_t row) const {
  if (taken.whole.empty()) return row < std::ssize(handles) ? row : RowSpans::no_element;
  const std::int64_t whole = taken.whole[static_cast<std::size_t>(row)];
  if (whole != RowSpans::no_element) return whole;
  for (std::size_t axis = 0; axis < taken.spans.size(); ++axis) {
    if (const auto spans = taken.of_row(axis, row); !spans.empty()) return spans.front().element;
  }
  return RowSpans::no_element;
}

}  // namespace forebay::engine
