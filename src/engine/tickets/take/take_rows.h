// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <forebay/column.h>
#include <forebay/step.h>

#include "columns/take/take.h"
#include "engine/program/program.h"
#include "engine/tickets/job.h"
#include "engine/tickets/take/take_sizes.h"

namespace forebay::engine {

/// The spans of one ticket along one axis. Rows count from the ticket's first one.
struct AxisSpans {
  std::vector<columns::PlacedSpan> spans;  ///< Of a part of a row: with the neighbour on each side.
  columns::IndexRange range;               ///< Those of the ticket.
  std::size_t first = 0;                   ///< Number in RowSpans::spans of the first one in `spans`.
  std::vector<std::size_t> open;           ///< Those that have no length (RowSpans::to_the_end).
};

/// The spans of one ticket. `source` and `element` say where a column of the elements lies.
struct TicketSpans {
  std::vector<AxisSpans> axes;
  std::vector<columns::PlacedSpan> whole;  ///< One for each row that is not empty.
};

/// Memory of one worker for tickets of spans. Used by its thread only.
///
/// `elements` is a batch of its own that has the elements of the ticket for rows, each once and in their order. The
/// same code decodes it, or gathers it, as decodes other batches.
struct TakeMemory {
  Job elements;
  Ticket ticket;  ///< All of `elements`. Its columns hold the elements that were decoded or copied.
  std::vector<std::unique_ptr<StepMemory>> steps;  ///< By step on elements; empty until they run.
  TicketSpans in_columns;              ///< `element` is a row of the columns of `ticket`. Unset when no column is made.
  TicketSpans in_blocks;               ///< `source` counts in `blocks`, and `element` is a row of that block.
  bool decoded = false;                ///< The elements are records of blocks that are decoded: `blocks` are these.
  std::vector<std::uint32_t> numbers;  ///< By element of the batch, from the first one used: its row in `elements`.
  std::vector<const RowBlock*> blocks;     ///< Row blocks of the elements, or decoded blocks, each once.
  std::vector<std::uint32_t> block_of;     ///< By element: its block.
  std::vector<ColumnId> copied;            ///< Columns of a row source that must be copied before spans are taken.
  std::vector<columns::Elements> sources;  ///< Of the column that is taken.

  /// The row of element `i` in its block.
  [[nodiscard]] std::uint32_t row_in_block(std::size_t i) const {
    const Handle& handle = elements.layout.handles[i];
    return decoded ? handle.ordinal : handle.offset;
  }
};

/// A failure, the row of the batch, and the element (in TakeMemory::elements) that it belongs to; -1: none.
struct TakeFault {
  Error error;
  std::int64_t row = 0;
  std::int64_t element = -1;
};

/// Makes rows out of spans of elements (Program::taking).
///
///     elements (decoded, or copied from row blocks) ──────┐
///     row blocks whose columns are plain, decoded blocks ─┴─► take ─► final tensor, or column of the ticket
///
/// Immutable; the Executor owns it and any thread calls it, each with its own memory.
class TakeRows {
 public:
  explicit TakeRows(const Program& program);

  [[nodiscard]] const TakeSizes& sizes() const { return sizes_; }
  [[nodiscard]] std::vector<ColumnId> columns() const;  ///< Columns of rows that `fill` makes.
  /// Columns of elements that are decoded, copied, or made by steps on elements.
  [[nodiscard]] const std::vector<ColumnId>& element_columns() const { return element_columns_; }

  /// Finds the elements and the spans of a ticket.
  void choose(const Ticket& ticket, TakeMemory& memory) const;
  /// Whether elements have to be decoded or copied before `fill`.
  [[nodiscard]] bool needs_columns(const TakeMemory& memory) const;
  /// The first row of the batch, from the ticket's first row on, that uses an element.
  [[nodiscard]] static std::int64_t row_of(const Ticket& ticket, const TakeMemory& memory, std::int64_t element);
  /// Fills the columns of the ticket. Sets the lengths of spans that have none in the layout. Throws what `check`
  /// throws.
  [[nodiscard]] std::optional<TakeFault> fill(Ticket& ticket, TakeMemory& memory, const StopCheck& check) const;

 private:
  /// A cut column, with the bytes of its padding value, and its batched output or -1.
  struct Cut {
    TakenColumn column;
    std::vector<std::byte> filler;
    std::int64_t output = -1;
  };
  /// A generated column of the same kind.
  struct Made {
    GeneratedColumn column;
    std::vector<std::byte> filler;
    std::int64_t output = -1;
  };
  class Filling;
  void number_elements(const Ticket& ticket, TakeMemory& memory) const;
  void choose_blocks(TakeMemory& memory) const;
  void choose_copied(TakeMemory& memory) const;
  void choose_decoded(TakeMemory& memory) const;

  const Program& program_;
  const TakeSizes sizes_;
  std::vector<Cut> cut_;
  std::vector<Made> made_;
  std::vector<ColumnId> taken_from_;  // columns of elements that rows need
  std::vector<ColumnId> element_columns_;
  bool early_ = false;  // blocks may be decoded
};

}  // namespace forebay::engine
