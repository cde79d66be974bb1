// SPDX-License-Identifier: Apache-2.0
#include "engine/order/windows/window_table.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "engine/blocks/block_table.h"

namespace forebay::engine {

WindowTable::Element WindowTable::add_element(const Handle& handle, double frame_bytes) {
  return entries_.add({.handle = handle, .frame_bytes = frame_bytes, .uses = 1});
}

void WindowTable::release_element(Element element) {
  ElementEntry& entry = entries_[element];
  if (--entry.uses > 0) return;
  reader_.drop({&entry.handle, 1});
  entries_.take(element);
}

Result<void> WindowTable::add(SpanTable windows, std::span<const Element> elements, std::vector<Handle>& out) {
  if (windows.size() == 0) return {};
  const auto bytes = static_cast<std::int64_t>(bytes_ + windows.bytes());
  if (bytes > pool_->limit() / 2) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("the windows that the order holds take {} bytes, more than half of the memory budget of "
                             "{} bytes; raise `memory`, or shuffle fewer windows at once",
                             bytes, pool_->limit())};
  }
  const std::size_t live = windows.size();
  const std::uint32_t number =
      slots_.add({.windows = std::move(windows), .elements = {elements.begin(), elements.end()}, .live = live});
  const Slot& slot = slots_[number];
  for (const Element element : elements) ++entries_[element].uses;
  for (std::size_t i = 0; i < slot.live; ++i) {
    double size = 0;
    for (const WindowSpan& span : slot.windows[i])
      size += static_cast<double>(span.length) *
              entries_[slot.elements[static_cast<std::size_t>(span.element)]].frame_bytes;
    size = std::min(size, static_cast<double>(std::numeric_limits<std::uint32_t>::max()));
    out.push_back({.block = number,
                   .ordinal = static_cast<std::uint32_t>(i),
                   .offset = 0,
                   .length = static_cast<std::uint32_t>(size)});
  }
  bytes_ += slot.windows.bytes();
  charge_.set(*pool_, static_cast<std::int64_t>(bytes_), MemoryUse::order);
  return {};
}

void WindowTable::retire(std::uint32_t number) {
  const Slot slot = slots_.take(number);
  for (const Element element : slot.elements) release_element(element);
  bytes_ -= slot.windows.bytes();
  charge_.set(*pool_, static_cast<std::int64_t>(bytes_), MemoryUse::order);
}

void WindowTable::release(std::span<const Handle> windows) {
  for (const Handle& window : windows) {
    if (window.block != BlockTable::nowhere && --slots_[window.block].live == 0) retire(window.block);
  }
}

void WindowTable::hold(std::span<const Handle> windows) {
  for (const Handle& window : windows) {
    if (window.block != BlockTable::nowhere) ++slots_[window.block].live;
  }
}

std::int64_t WindowTable::frames(const Handle& window, std::size_t axis) const {
  return slots_[window.block].windows.length(window.ordinal, axis);
}

WindowNumber WindowTable::number(const Handle& window) const {
  const SpanTable& windows = slots_[window.block].windows;
  return {.number = windows.number(window.ordinal), .count = windows.count(window.ordinal)};
}

std::int64_t WindowTable::spans(const Handle& window) const {
  return static_cast<std::int64_t>(slots_[window.block].windows[window.ordinal].size() / axes_);
}

std::int64_t WindowTable::start(const Handle& window, std::size_t axis) const {
  return slots_[window.block].windows[window.ordinal][axis].start;
}

const Handle& WindowTable::first_element(const Handle& window) const {
  const Slot& slot = slots_[window.block];
  const WindowSpan& first = slot.windows[window.ordinal].front();
  return entries_[slot.elements[static_cast<std::size_t>(first.element)]].handle;
}

Result<bool> WindowTable::fetch(std::span<const Handle> windows, const Fetch& fetch) {
  begin_places();
  fetched_.clear();
  std::vector<Element> elements;
  for (const Handle& window : windows) {
    if (window.block == BlockTable::nowhere) continue;
    const Slot& slot = slots_[window.block];
    const std::span<const WindowSpan> spans = slot.windows[window.ordinal];
    for (std::size_t i = 0; i < spans.size(); i += axes_) {  // all axes have the same elements
      const Element element = slot.elements[static_cast<std::size_t>(spans[i].element)];
      if (place_of(element, fetched_) == elements.size()) elements.push_back(element);
    }
  }
  auto done = fetch(fetched_);
  for (std::size_t i = 0; i < elements.size(); ++i) entries_[elements[i]].handle = fetched_[i];
  return done;
}

void WindowTable::resolve(BatchLayout& layout, std::vector<Handle>& windows) {
  windows.swap(layout.handles);
  layout.handles.clear();
  RowSpans& taken = layout.taken;
  taken.clear();
  taken.spans.resize(axes_);
  const auto rows = static_cast<std::size_t>(layout.rows);
  taken.whole.assign(rows, RowSpans::no_element);
  taken.windows.assign(rows, 0);
  begin_places();
  for (std::size_t row = 0; row < windows.size(); ++row) {
    if (windows[row].block != BlockTable::nowhere) add_row(windows[row], row, layout);
  }
}

/// Adds the spans of one window as the only ones of a row.
void WindowTable::add_row(const Handle& window, std::size_t row, BatchLayout& layout) {
  const Slot& slot = slots_[window.block];
  const std::span<const WindowSpan> spans = slot.windows[window.ordinal];
  layout.taken.windows[row] = slot.windows.number(window.ordinal);
  if (const std::int64_t count = slot.windows.count(window.ordinal); count > 0) {
    layout.taken.counts.resize(layout.taken.windows.size());
    layout.taken.counts[row] = count;
  }
  for (std::size_t i = 0; i < spans.size(); i += axes_) {
    const std::uint32_t element = place_of(slot.elements[static_cast<std::size_t>(spans[i].element)], layout.handles);
    if (i == 0) layout.taken.whole[row] = element;
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      const WindowSpan& span = spans[i + axis];
      std::vector<columns::PlacedSpan>& out = layout.taken.spans[axis];
      out.push_back({.source = 0,
                     .element = element,
                     .start = span.start,
                     .length = span.length,
                     .pad_left = span.pad_left,
                     .pad_right = span.pad_right,
                     .row = static_cast<std::int64_t>(row),
                     .at = i == 0 ? 0 : out.back().end()});
    }
  }
}

void WindowTable::resolve_parts(BatchLayout& layout, std::span<const RowAxis> axes, std::vector<Handle>& windows) {
  windows.swap(layout.handles);
  layout.handles.clear();
  RowSpans& taken = layout.taken;
  const std::vector<columns::PlacedSpan> parts = std::move(taken.spans[0]);
  for (auto& axis : taken.spans) axis.clear();
  taken.spans.resize(axes.size() + 1);
  taken.windows.assign(static_cast<std::size_t>(layout.rows), 0);
  begin_places();
  for (const columns::PlacedSpan& part : parts) add_part(windows[part.element], part, axes, layout);
  for (std::size_t row = 0; row < taken.whole.size(); ++row) {
    if (taken.whole[row] != RowSpans::no_element)
      add_window(windows[static_cast<std::size_t>(taken.whole[row])], row, axes, layout);
  }
}

/// Adds the spans of a part of a window to the axes that the batcher packs, and the part itself to the last axis.
void WindowTable::add_part(const Handle& window, const columns::PlacedSpan& part, std::span<const RowAxis> axes,
                           BatchLayout& layout) {
  RowSpans& taken = layout.taken;
  const std::size_t before = taken.spans[0].size();
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].packs) add_spans(window, axes[axis].axis, part, axis, layout);
  }
  taken.windows_of_spans.resize(taken.spans[0].size(), number(window).number);
  columns::PlacedSpan whole = part;
  if (taken.spans[0].size() > before) {
    whole.element = taken.spans[0][before].element;
    whole.start = taken.spans[0][before].start;
  } else {
    const Slot& slot = slots_[window.block];
    whole.element =
        place_of(slot.elements[static_cast<std::size_t>(slot.windows[window.ordinal].front().element)], layout.handles);
  }
  taken.spans.back().push_back(whole);
}

/// Fills the rest of a row from its first window: the other axes, and what says where it lies.
void WindowTable::add_window(const Handle& window, std::size_t row, std::span<const RowAxis> axes,
                             BatchLayout& layout) {
  const Slot& slot = slots_[window.block];
  layout.taken.windows[row] = slot.windows.number(window.ordinal);
  const auto parts = layout.taken.of_row(0, static_cast<std::int64_t>(row));
  layout.taken.whole[row] =
      parts.empty() ? place_of(slot.elements[static_cast<std::size_t>(slot.windows[window.ordinal].front().element)],
                               layout.handles)
                    : parts.front().element;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const columns::PlacedSpan all{.length = frames(window, axes[axis].axis), .row = static_cast<std::int64_t>(row)};
    if (!axes[axis].packs) add_spans(window, axes[axis].axis, all, axis, layout);
  }
}

/// Adds the spans of frames `part.start` … of a window along axis `from` to axis `to` of the rows. Their padding is
/// that of the window.
void WindowTable::add_spans(const Handle& window, std::size_t from, const columns::PlacedSpan& part, std::size_t to,
                            BatchLayout& layout) {
  const Slot& slot = slots_[window.block];
  const std::span<const WindowSpan> spans = slot.windows[window.ordinal];
  const std::int64_t end = part.start + part.length;
  std::int64_t at = 0;  // frame of the window
  for (std::size_t i = from; i < spans.size(); i += axes_) {
    const WindowSpan& span = spans[i];
    const std::int64_t begin = at;
    const auto take = [&](std::int64_t frames) {  // of the next frames of the window, those in the part
      const std::int64_t first = std::max(at, part.start);
      at += frames;
      return std::max<std::int64_t>(std::min(at, end) - first, 0);
    };
    const std::int64_t pad_left = take(span.pad_left);
    const std::int64_t skipped = std::clamp<std::int64_t>(part.start - at, 0, span.length);
    const std::int64_t length = take(span.length);
    const std::int64_t pad_right = take(span.pad_right);
    if (pad_left + length + pad_right == 0) continue;
    layout.taken.spans[to].push_back(
        {.element = place_of(slot.elements[static_cast<std::size_t>(span.element)], layout.handles),
         .start = span.start + skipped,
         .length = length,
         .pad_left = pad_left,
         .pad_right = pad_right,
         .row = part.row,
         .at = part.at + std::max(begin, part.start) - part.start});
  }
}

/// The index of an element in `handles`, to which it is added if this round has not done so.
std::uint32_t WindowTable::place_of(Element element, std::vector<Handle>& handles) {
  ElementEntry& entry = entries_[element];
  if (entry.round != rounds_) {
    entry.round = rounds_;
    entry.place = static_cast<std::uint32_t>(handles.size());
    handles.push_back(entry.handle);
  }
  return entry.place;
}

}  // namespace forebay::engine
