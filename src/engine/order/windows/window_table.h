// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <forebay/order.h>
#include <forebay/window.h>

#include "engine/blocks/batch_layout.h"
#include "engine/blocks/numbered_table.h"
#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// The windows that handles name, and the elements that the windows lie in. The handle of a window holds the slot and
/// the number of the window in it.
///
///     elements   | e0 | e1 | e2 | …           each: its handle, and the number of slots and readers that use it
///                  ▲    ▲    ▲
///     slot       | windows of one call of WindowCutter::cut |    live: handles that name its windows
///                  ▲    ▲    ▲
///     handles    w0   w1   w2                  what orders and batchers move
///
/// The last handle of a slot that is released retires the slot; the last slot or reader of an element releases the
/// element. Owned by the OrderPlane and used on its thread only.
class WindowTable {
 public:
  using Element = std::uint32_t;

  /// `reader` has the elements and outlives the table.
  WindowTable(Reader& reader, std::shared_ptr<BufferPool> pool, std::size_t axes)
      : reader_{reader}, pool_{std::move(pool)}, axes_{axes} {}

  /// Adds an element, which the caller uses until `release_element`. `frame_bytes`: the bytes of one of its frames on
  /// all axes, for estimates.
  [[nodiscard]] Element add_element(const Handle& handle, double frame_bytes);
  void release_element(Element element);

  /// Takes over windows and writes their handles. WindowSpan::element counts in `elements`, each of which the slot uses
  /// from now on. Fails with Code::data, resource_exhausted, when the table exceeds half of the memory budget.
  [[nodiscard]] Result<void> add(SpanTable windows, std::span<const Element> elements, std::vector<Handle>& out);

  void release(std::span<const Handle> windows);
  void hold(std::span<const Handle> windows);

  /// Frames of a window along one axis, padding included.
  [[nodiscard]] std::int64_t frames(const Handle& window, std::size_t axis) const;
  [[nodiscard]] WindowNumber number(const Handle& window) const;
  /// Spans of a window along each axis: one for each of its elements.
  [[nodiscard]] std::int64_t spans(const Handle& window) const;
  /// First frame of a window in its first element along one axis.
  [[nodiscard]] std::int64_t start(const Handle& window, std::size_t axis) const;
  /// The element of a window's first span.
  [[nodiscard]] const Handle& first_element(const Handle& window) const;

  using Fetch = std::function<Result<bool>(std::span<Handle> elements)>;
  /// Calls `fetch` with the elements of these windows, each once, and stores their new handles. Returns its result.
  [[nodiscard]] Result<bool> fetch(std::span<const Handle> windows, const Fetch& fetch);

  /// Replaces the windows in `layout.handles` by their elements, each once, and fills `layout.taken` with the spans.
  /// The caller releases `windows`, which gets the handles of the windows, when it has handed the elements over.
  void resolve(BatchLayout& layout, std::vector<Handle>& windows);
  /// Does the same for a batcher that has placed parts of windows: its spans, of which `element` counts in
  /// `layout.handles`, become spans of elements.
  ///
  ///     part        w0[2,5)                      frames 2 … 4 of a window
  ///     window w0   e0[7,10) e1[0,4)             3 frames of one element, 4 of the next one
  ///     spans       e0[9,10) e1[0,2)
  void resolve_parts(BatchLayout& layout, std::span<const RowAxis> axes, std::vector<Handle>& windows);

 private:
  struct ElementEntry {
    Handle handle;
    double frame_bytes = 0;   // per frame, estimated
    std::uint32_t uses = 0;   // slots, and one for add_element
    std::uint32_t place = 0;  // in the handles of round `round`
    std::uint64_t round = 0;  // the last one that the element was in
  };
  struct Slot {
    SpanTable windows{1};
    std::vector<Element> elements;
    std::size_t live = 0;
  };
  void retire(std::uint32_t number);
  void add_row(const Handle& window, std::size_t row, BatchLayout& layout);
  void add_part(const Handle& window, const columns::PlacedSpan& part, std::span<const RowAxis> axes,
                BatchLayout& layout);
  void add_window(const Handle& window, std::size_t row, std::span<const RowAxis> axes, BatchLayout& layout);
  void add_spans(const Handle& window, std::size_t from, const columns::PlacedSpan& part, std::size_t to,
                 BatchLayout& layout);
  void begin_places() { ++rounds_; }
  [[nodiscard]] std::uint32_t place_of(Element element, std::vector<Handle>& handles);

  Reader& reader_;
  const std::shared_ptr<BufferPool> pool_;
  const std::size_t axes_;
  NumberedTable<ElementEntry, Element> entries_;
  NumberedTable<Slot, std::uint32_t> slots_;
  std::uint64_t rounds_ = 0;  // lists of elements, each once, that were made so far
  std::vector<Handle> fetched_;
  std::size_t bytes_ = 0;  // of all span tables
  Charge charge_;
};

}  // namespace forebay::engine
