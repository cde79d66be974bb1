// SPDX-License-Identifier: Apache-2.0
#include "engine/order/placed_rows.h"

#include <algorithm>
#include <unordered_map>

namespace forebay::engine {

namespace {

/// A number of each record or row of a block.
std::uint64_t identity(const Handle& element) { return std::uint64_t{element.block} << 32 | element.ordinal; }

}  // namespace

std::vector<Handle> place_rows(const BatchRows& rows, BatchLayout& layout) {
  std::vector<Handle> twice;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  layout.handles.clear();
  layout.taken.clear();
  layout.taken.spans.resize(1);
  layout.taken.whole.assign(static_cast<std::size_t>(rows.rows()), RowSpans::no_element);
  for (const BatchRows::Part& part : rows.parts()) {
    const auto number = static_cast<std::uint32_t>(layout.handles.size());
    const auto [at, added] = numbers.emplace(identity(part.element), number);
    (added ? layout.handles : twice).push_back(part.element);
    layout.taken.spans[0].push_back(
        {.element = at->second, .start = part.start, .length = part.length, .row = part.row, .at = part.at});
    std::int64_t& whole = layout.taken.whole[static_cast<std::size_t>(part.row)];
    if (whole == RowSpans::no_element) whole = at->second;
  }
  return twice;
}

void pad_as_whole_batch(const Program& program,
                        const std::function<std::int64_t(const Handle& window, std::size_t axis)>& frames_of,
                        BatchLayout& layout) {
  const std::vector<columns::PlacedSpan>& parts = layout.taken.spans[0];
  std::int64_t frames = 0, spans = 0, max_spans = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    frames = std::max(frames, parts[i].end());
    spans = i > 0 && parts[i].row == parts[i - 1].row ? spans + 1 : 1;
    max_spans = std::max(max_spans, spans);
  }
  for (const TakenColumn& cut : program.taking->cut) {
    std::int64_t longest = frames;
    if (program.windows && !program.windows->row_axes[cut.axis].packs) {
      longest = 0;
      for (const std::int64_t window : layout.taken.whole) {
        if (window == RowSpans::no_element) continue;
        const Handle& first = layout.handles[static_cast<std::size_t>(window)];
        longest = std::max(longest, frames_of(first, program.windows->row_axes[cut.axis].axis));
      }
    }
    layout.longest.push_back({cut.to, longest});
  }
  for (const GeneratedColumn& made : program.taking->generated)
    layout.longest.push_back({made.column, made.kind == Generated::cu_seqlens ? max_spans + 1 : frames});
}

std::vector<Handle> keep_rows(BatchLayout& layout, std::int64_t first, std::int64_t end) {
  RowSpans& taken = layout.taken;
  const auto keep = [&](auto& by_row) {
    if (by_row.empty()) return;
    by_row.erase(by_row.begin() + end, by_row.end());
    by_row.erase(by_row.begin(), by_row.begin() + first);
  };
  keep(taken.whole);
  keep(taken.windows);
  keep(layout.identities);
  for (auto& axis : taken.spans) {
    std::erase_if(axis, [&](const columns::PlacedSpan& span) { return span.row < first || span.row >= end; });
    for (columns::PlacedSpan& span : axis) span.row -= first;
  }
  std::vector<std::int64_t> numbers(layout.handles.size(), RowSpans::no_element);  // new ones, of the elements in use
  for (const auto& axis : taken.spans) {
    for (const columns::PlacedSpan& span : axis) numbers[span.element] = 0;
  }
  for (const std::int64_t element : taken.whole) {
    if (element != RowSpans::no_element) numbers[static_cast<std::size_t>(element)] = 0;
  }
  std::vector<Handle> dropped;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Handle element = layout.handles[i];
    if (numbers[i] == RowSpans::no_element) {
      dropped.push_back(element);
      continue;
    }
    numbers[i] = static_cast<std::int64_t>(kept);
    layout.handles[kept++] = element;
  }
  layout.handles.resize(kept);
  for (auto& axis : taken.spans) {
    for (columns::PlacedSpan& span : axis) span.element = static_cast<std::uint32_t>(numbers[span.element]);
  }
  for (std::int64_t& element : taken.whole) {
    if (element != RowSpans::no_element) element = numbers[static_cast<std::size_t>(element)];
  }
  layout.rows = end - first;
  return dropped;
}

}  // namespace forebay::engine
