// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "columns/gather.h"
#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"
#include "engine/tickets/job.h"
#include "engine/tickets/step_clock.h"

namespace forebay::engine {

/// Whether padding makes the rows of this output larger than the known shape of its column.
[[nodiscard]] bool changes_shape(const Output& output);

/// The bytes of the value that pads this output. The planner has checked that it fits the dtype.
[[nodiscard]] std::vector<std::byte> filler_of(const Output& output);

/// Makes the tensors of one batch out of the rows that its tickets filled. Used once, by the thread that completed the
/// last ticket; owned by Executor::finish.
///
/// How the columns of an output become a value:
///
///     fixed numeric    tickets have written into Job::fixed: a tensor over that buffer, no copy. So they have the
///                      spans of known lengths (Program::taking), padding included
///
///     ticket 1  [a a|b]  ┐  dense, padded: [a a .|b . .|c c c|d . .], one copy; lengths 2 1 3 1
///     ticket 2  [c c c]  ├─ ragged: values [a a b c c c d], splits [0 2 3 6 7]
///     ticket 3  [d]      ┘  sparse: values, and (row, index) of each; a ticket's rows count from its first row
///
/// Rows that no record fills (the last batch with `remainder: pad`) come after the last ticket.
class Finisher {
 public:
  struct Failure {
    Error error;
    std::int64_t row = -1;  ///< Row of the batch; -1: no particular row.
  };

  /// `clock`: gets the time of the steps on the batch; null: nothing is counted.
  Finisher(const Program& program, BufferPool& pool, Job& job, const StepClock* clock = nullptr)
      : program_{program}, pool_{pool}, job_{job}, clock_{clock}, needed_{job.bytes()} {}
  /// Fills `content`. Throws Closed when the run is stopped; `content` may be half made then.
  [[nodiscard]] std::optional<Failure> run(Batch::Content& content);
  [[nodiscard]] std::int64_t needed() const { return needed_; }  ///< Bytes of the batch, those of its job included.

 private:
  struct Made {
    Value value;
    std::optional<Tensor> lengths;
  };
  /// Calls `copy` with each piece (the column of one ticket). Throws Closed when the run is stopped.
  template <class Copy>
  void each(columns::Pieces pieces, Copy copy) const {
    for (const Column* piece : pieces) {
      pool_.look();
      copy(*piece);
    }
  }
  std::optional<Failure> make(std::size_t index, Made& made);
  std::optional<Failure> made_in_place(std::size_t index, Made& made);
  std::vector<const Column*> pieces(const Output& output);
  std::optional<Failure> dense(const Output& output, columns::Pieces pieces, Made& made);
  /// Fails when the batch does not fit into the budget with one more array of `shape`, with `size` bytes an element,
  /// and `more` bytes.
  std::optional<Failure> room(const Output& output, std::size_t size, const Shape& shape, std::int64_t more = 0);
  /// Bytes of an element. A string has one split, and the array one more.
  [[nodiscard]] static std::size_t element_bytes(DType dtype) {
    return dtype == DType::string ? sizeof(std::int64_t) : size_of(dtype);
  }
  [[nodiscard]] static std::int64_t text_bytes(columns::Pieces pieces);  ///< Bytes of strings; 0 for numbers.
  [[nodiscard]] static std::int64_t splits_of(columns::Pieces pieces);   ///< Splits of all levels of a ragged value.
  std::optional<Failure> ragged(const Output& output, columns::Pieces pieces, Made& made);
  std::optional<Failure> sparse(const Output& output, columns::Pieces pieces, Made& made);
  /// A tensor of strings; `size` has their number and bytes, `copy` appends those of one piece.
  template <class Copy>
  Tensor strings(columns::Pieces pieces, Shape shape, columns::Extents size, Copy copy);
  enum class Use : std::uint8_t { dense, list };  ///< Dense tensors go to devices (BufferPool::lend_pinned).
  Tensor flat_values(columns::Pieces pieces, Shape shape, Use use);
  void pin(Tensor& tensor);  ///< Moves numbers that a step has made in ordinary memory.
  Tensor integers(Shape shape);
  std::optional<Failure> lengths_of(const Output& output, columns::Pieces pieces, Made& made);
  std::optional<Failure> after_batch(Batch::Content& content);
  std::optional<Failure> steps_after_batch(ColumnBlock& block);

  const Program& program_;
  BufferPool& pool_;
  Job& job_;
  const StepClock* const clock_;
  /// Rows that no record fills.
  struct EmptyRows {
    std::unique_ptr<Column> column;
    std::shared_ptr<void> charge;
  };

  std::int64_t needed_;  // bytes of the batch, as far as it is made
  std::vector<EmptyRows> empty_rows_;
};

}  // namespace forebay::engine
