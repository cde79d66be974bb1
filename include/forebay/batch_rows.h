// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <forebay/record.h>
#include <forebay/schema.h>

namespace forebay {

/// Bytes of a batch per row besides its tensors: the handle and the address of the record.
inline constexpr std::int64_t bytes_a_row = 24;

/// The rows of one batch, as a batcher places them.
///
///     row(a)  row(b)  pad_to(4)                     whole elements:    a │ b │ (empty) │ (empty)
///
///     begin_row()  span(a, 0, 5, 0)                 rows of spans:     a a a a a b b b
///                  span(b, 0, 3, 5)                                    b b b b
///     begin_row()  span(b, 3, 4, 0)                                    (empty)
///     begin_row()
///
/// A batch has rows of one of the two forms. A batcher of rows of spans lists the columns that it cuts in
/// Batching::packs. Each `row` and each `span` uses up one count of its element's handle: a batcher that places spans
/// of one element several times, in one batch or in two, calls Reader::hold once for each further one.
///
/// The engine owns the rows and empties them before each batch. Only the thread that calls the batcher uses them.
class BatchRows {
 public:
  /// A stretch of one element, as a part of a row. In frames, but for `row`.
  struct Part {
    Handle element;
    std::int64_t row = 0;
    std::int64_t start = 0;   ///< In the element.
    std::int64_t length = 0;  ///< 0 is allowed.
    std::int64_t at = 0;      ///< In the row.
    bool operator==(const Part&) const = default;
  };
  /// The fewest frames that the rows of a padded column get.
  struct Longest {
    ColumnId column = 0;
    std::int64_t frames = 0;
    bool operator==(const Longest&) const = default;
  };

  /// `elements` is where the handles of whole elements go; it must outlive this object. `pass`: the pass of the handles
  /// that the stream gave last.
  explicit BatchRows(std::vector<Handle>& elements, const std::int64_t* pass = nullptr)
      : elements_{&elements}, pass_{pass} {}

  // Rows that are whole elements.
  /// Appends a row.
  void row(const Handle& element) {
    if (room().empty()) make_room(std::max<std::size_t>(16, 2 * used_));
    room().front() = element;
    add(1);
  }
  /// Appends an empty row before rows with elements. Only in plans whose elements are windows.
  void empty_row() { row({.block = Handle::nowhere}); }
  /// Appends rows in bulk: a batcher pulls into `room`, whose first `count` elements `add` then makes rows.
  [[nodiscard]] std::span<Handle> room() { return std::span{*elements_}.subspan(used_); }
  void make_room(std::size_t rows) { elements_->resize(std::max(rows, used_)); }  ///< For `rows` rows in all.
  [[nodiscard]] std::size_t capacity() const { return elements_->capacity(); }    ///< Rows that need no new memory.
  void add(std::size_t count) {
    used_ += count;
    rows_ += static_cast<std::int64_t>(count);
  }
  [[nodiscard]] std::span<const Handle> elements() const { return std::span{*elements_}.first(used_); }
  /// Appends empty rows until the batch has `rows`.
  void pad_to(std::int64_t rows) { rows_ = std::max(rows_, rows); }
  /// The number in its pass of the sequence of the next row that has none yet (Batching::numbers). Of rows of spans, of
  /// the first sequence; -1: of an empty row. Rows at the end need none.
  void number(std::int64_t sequence) { numbers_.push_back(sequence); }
  [[nodiscard]] std::span<const std::int64_t> numbers() const { return numbers_; }

  // Rows of spans.
  /// Begins a row; without spans it is an empty one.
  void begin_row() {
    placed_ = true;
    ++rows_;
  }
  /// Adds frames start … start + length - 1 of `element` to the row that was begun last, from its frame `at` on.
  void span(const Handle& element, std::int64_t start, std::int64_t length, std::int64_t at) {
    parts_.push_back({.element = element, .row = rows_ - 1, .start = start, .length = length, .at = at});
  }
  [[nodiscard]] bool placed() const { return placed_; }  ///< Whether `begin_row` was called.
  [[nodiscard]] std::span<const Part> parts() const { return parts_; }

  // The whole batch.
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Removes all rows. The batcher drops their elements.
  void clear() {
    used_ = 0;
    rows_ = 0;
    parts_.clear();
    longest_.clear();
    numbers_.clear();
    passes_.clear();
    first_pass_.reset();
    placed_ = false;
  }
  /// The pass of the elements that are placed from here on, for batchers that hold elements of earlier calls. Else it
  /// is the pass that an element was pulled in.
  void of_pass(std::int64_t pass) {
    const std::size_t next = placed_ ? parts_.size() : used_;
    if (passes_.empty() || passes_.back().pass != pass) passes_.push_back({next, pass});
  }
  /// Where the elements of a pass begin: number of the element, or of the part.
  struct PassBegin {
    std::size_t first = 0;
    std::int64_t pass = 0;
  };
  [[nodiscard]] std::span<const PassBegin> passes() const { return passes_; }
  /// The pass of the handles that the stream gave last.
  [[nodiscard]] std::int64_t pass() const { return pass_ != nullptr ? *pass_ : 0; }
  /// Sets the epoch of the batch, for batchers that hold elements of earlier calls. Else it is the pass of the first
  /// element that this call pulled. Never less than that of an earlier batch.
  void set_epoch(std::int64_t epoch) { first_pass_ = epoch; }
  [[nodiscard]] std::optional<std::int64_t> epoch() const { return first_pass_; }
  /// Pads a padded column to at least `frames`, so that each shard of the batch has the same shape.
  void pad_frames(ColumnId column, std::int64_t frames) { longest_.push_back({column, frames}); }
  [[nodiscard]] std::span<const Longest> longest() const { return longest_; }

  /// Says, before Cut::end_of_pass, how many sequences the pass has (Batching::numbers).
  void end_pass(std::int64_t sequences) { sequences_ = sequences; }
  [[nodiscard]] std::int64_t sequences() const { return sequences_; }

  // For the engine.
  /// Goes on with the same rows, whose elements were moved to another vector.
  void attach(std::vector<Handle>& elements) { elements_ = &elements; }
  void trim() { elements_->resize(used_); }  ///< Removes the room that no row uses.

 private:
  std::vector<Handle>* elements_;
  const std::int64_t* pass_;
  std::size_t used_ = 0;
  std::int64_t rows_ = 0;
  bool placed_ = false;
  std::vector<Part> parts_;
  std::vector<Longest> longest_;
  std::vector<std::int64_t> numbers_;
  std::vector<PassBegin> passes_;
  std::int64_t sequences_ = 0;
  std::optional<std::int64_t> first_pass_;
};

}  // namespace forebay
