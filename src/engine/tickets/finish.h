// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "columns/gather.h"
#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"
#include "engine/tickets/job.h"

namespace forebay::engine {

/// Whether padding makes the rows of this output larger than its column's, although that shape is known.
[[nodiscard]] bool changes_shape(const Output& output);

/// Makes the tensors of one batch out of the rows that its tickets filled.
class Finisher {
 public:
  struct Failure {
    Error error;
    std::int64_t row = -1;  ///< Of the batch; -1: no row in particular.
  };

  Finisher(const Program& program, BufferPool& pool, Job& job)
      : program_{program}, pool_{pool}, job_{job}, needed_{job.bytes()} {}
  /// Throws Closed when the run is over; the batch may be half made then.
  [[nodiscard]] std::optional<Failure> run(Batch::Content& content);
  [[nodiscard]] std::int64_t needed() const { return needed_; }  ///< Bytes, all that the job took included.

 private:
  struct Made {
    Value value;
    std::optional<Tensor> lengths;
  };
  /// Calls `copy` with the pieces, one after the other, as long as the run goes on.
  template <class Copy>
  void each(columns::Pieces pieces, Copy copy) const {
    for (const Column* piece : pieces) {
      pool_.look();
      copy(*piece);
    }
  }
  std::optional<Failure> make(std::size_t index, Made& made);
  std::vector<const Column*> pieces(const Output& output);
  std::optional<Failure> dense(const Output& output, columns::Pieces pieces, Made& made);
  /// A failure when the batch does not fit into the budget any more with an array of that shape, `size` bytes an
  /// element, and so many `more`.
  std::optional<Failure> room(const Output& output, std::size_t size, const Shape& shape, std::int64_t more = 0);
  /// Bytes an element; of strings a split, of which there is one more.
  [[nodiscard]] static std::size_t element_bytes(DType dtype) {
    return dtype == DType::string ? sizeof(std::int64_t) : size_of(dtype);
  }
  [[nodiscard]] static std::int64_t text_bytes(columns::Pieces pieces);  ///< Of strings; else none.
  [[nodiscard]] static std::int64_t splits_of(columns::Pieces pieces);   ///< Of all levels of a ragged value.
  std::optional<Failure> ragged(const Output& output, columns::Pieces pieces, Made& made);
  std::optional<Failure> sparse(const Output& output, columns::Pieces pieces, Made& made);
  /// So many strings of so many bytes in all; `copy` adds those of one piece.
  template <class Copy>
  Tensor strings(columns::Pieces pieces, Shape shape, columns::Extents size, Copy copy);
  Tensor flat_values(columns::Pieces pieces, Shape shape);
  Tensor integers(Shape shape);
  std::optional<Failure> lengths_of(const Output& output, columns::Pieces pieces, Made& made);
  std::optional<Failure> after_batch(Batch::Content& content);

  const Program& program_;
  BufferPool& pool_;
  Job& job_;
  /// Rows that no record fills.
  struct EmptyRows {
    std::unique_ptr<Column> column;
    std::shared_ptr<void> charge;
  };

  std::int64_t needed_;  // bytes of the batch, as far as it is made
  std::vector<EmptyRows> empty_rows_;
};

}  // namespace forebay::engine
