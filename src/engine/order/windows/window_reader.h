// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forebay/column.h>
#include <forebay/order.h>
#include <forebay/window.h>

#include "engine/blocks/numbered_table.h"
#include "engine/order/windows/element_lengths.h"
#include "engine/order/windows/window_table.h"

namespace forebay::engine {

/// The Reader of the orders and the batcher that come after a window stage. Their handles are windows.
///
/// Windows over parts are cut when a stream is read; WindowStage cuts windows over sequences.
///
///     OpenFiles::read ─► elements, lengths ─► WindowCutter::cut ─► WindowTable ─► handles of windows
///                        │ those that reach over the end of the last window stay for the next call
///                        └ a skipped record ends the stretch: no window lies on both sides of it
///
/// Owned by the OrderPlane and used on its thread only.
class WindowReader final : public Reader {
 public:
  /// `program`, which has windows, and `files` outlive this object.
  WindowReader(const Program& program, OpenFiles& files);

  [[nodiscard]] WindowTable& table() { return table_; }
  /// A new pass begins: the draws of its windows are those of `epoch`.
  void begin(std::int64_t epoch) { epoch_ = epoch; }

  /// What tells a window from all others of its pass.
  [[nodiscard]] RowIdentity identity(const Handle& window) const;
  /// Adds the place of a window to an error.
  [[nodiscard]] Error at(const Handle& window, const Error& error) const;
  /// Fails with Code::data when a batcher has placed a part of a window whose tensors differ in length.
  [[nodiscard]] Result<void> check_parts(std::span<const BatchRows::Part> parts) const;
  /// Brings the elements of the windows of a batch into memory, as OpenFiles::fetch_batch does.
  [[nodiscard]] Result<bool> fetch_batch(std::span<const Handle> windows);
  /// As OpenParts::expect_batch, for the same elements.
  [[nodiscard]] OpenParts::Expected expect_batch(std::span<const Handle> windows);
  /// Replaces the windows of a batch by their elements and spans (`layout.taken`), hands the elements over, and
  /// releases the windows.
  void hand_over(BatchLayout& layout, std::int64_t batch);

  // Of parts, with windows over parts only.
  Stream open(Handle file) override;
  Result<std::size_t> read(Stream stream, std::span<Handle> out) override;
  bool ready(Stream stream) override;
  void close(Stream stream) override;
  Result<std::int64_t> skip(Stream stream, std::int64_t n) override;
  std::int64_t files_ahead() const override { return files_.files_ahead(); }

  // Of windows.
  void drop(std::span<const Handle> windows) override { table_.release(windows); }
  void hold(std::span<const Handle> windows) override { table_.hold(windows); }
  /// `attribute` counts in Windows::attributes.
  Result<void> attributes(std::size_t attribute, std::span<const Handle> windows, std::span<std::int64_t> out) override;
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override { return files_.charge(bytes); }
  WindowNumber window_number(const Handle& window) const override { return table_.number(window); }

  // The number of windows is known only after they have been cut: the planner refuses orders that ask for it.
  Result<std::vector<std::int64_t>> count(std::span<const Handle> files) override;
  Result<std::vector<std::int64_t>> index(std::span<const Handle> files) override;
  Result<void> locate(std::span<const RecordName> names, std::span<Handle> out) override;
  Result<bool> fetch(std::span<Handle> handles) override;
  std::int64_t window() const override { return files_.window(); }

 private:
  /// A part that is read: the elements that the next windows may lie in.
  struct Part {
    Stream stream = 0;
    std::uint32_t number = 0;
    WindowCursor cursor;
    std::int64_t first_element = 0;  // number of elements.front() in the part
    std::int64_t first_frame = 0;    // its first frame in the stretch, or with Windowing::by_element its number
    std::vector<WindowTable::Element> elements;
    std::vector<std::int64_t> lengths;  // [elements, keys]
    std::vector<Handle> pulled;         // elements that were read, and whose lengths are not known yet
    std::int64_t skips = 0;             // of the part, when `pulled` was read
    bool ends = false;                  // the stretch ends before `pulled`, or with the part
    bool full = false;                  // more windows can be cut from `elements`
    bool ended = false;                 // the part has no more elements
    bool finished = false;              // and all windows are cut
    std::optional<Error> broken;        // reported after `windows`
    std::vector<Handle> windows;        // cut and not handed out
    std::size_t next = 0;               // in `windows`
  };
  [[nodiscard]] ColumnBlock known_columns(std::span<const Handle> windows) const;
  [[nodiscard]] Result<void> more(Part& part);
  [[nodiscard]] Result<void> pull(Part& part);
  [[nodiscard]] Result<void> add_pulled(Part& part);
  [[nodiscard]] Result<void> cut(Part& part);
  [[nodiscard]] Result<SpanTable> cut_before_faults(Part& part);
  void forget(Part& part, bool all);

  const Program& program_;
  const Windows& windows_;
  OpenFiles& files_;
  WindowTable table_;
  ElementLengths lengths_;
  NumberedTable<Part, Reader::Stream> parts_;
  std::int64_t epoch_ = 0;
  std::vector<Handle> elements_;      // scratch
  std::vector<std::int64_t> frames_;  // scratch
  std::vector<Handle> resolved_;      // scratch
};

/// Adds the file to an error of a window plug-in that names an element of a part.
[[nodiscard]] Error place_of_element(const Program& program, std::uint32_t part, const Error& error);

}  // namespace forebay::engine
