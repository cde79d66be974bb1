// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/ticket_columns.h"
#include "engine/program/program.h"
#include "engine/tickets/job.h"
#include "engine/tickets/row_notes.h"
#include "engine/tickets/step_clock.h"

namespace forebay::engine {

/// What one worker keeps between tickets for the late steps. Used by its thread only.
struct StepScratch {
  std::vector<std::unique_ptr<StepMemory>> memories;  ///< By step; null where a step needs none.
  ColumnBlock range;                                  ///< Columns of one range of rows; empty until they are needed.
  Charge charge;
};

/// Applies the late steps of a program to the rows of a ticket. The Executor owns it. Const while running: any number
/// of workers call it at once, each with its own scratch.
///
///     little lies between two steps:  all rows of the ticket ─► step 1 ─► step 2          in the ticket's columns
///     else, and after a fault:        rows a … b ─► step 1 ─► step 2 ─► rows a … b        through `StepScratch::range`
///
/// With skip_row, a range in which a step failed is worked on again row by row. A row that fails alone becomes a fault
/// of the ticket, and its outputs are zero or empty.
class StepChain {
 public:
  /// `clock` must outlive it.
  StepChain(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, const StepClock& clock);

  [[nodiscard]] bool empty() const { return program_->late.empty(); }
  [[nodiscard]] bool expensive() const { return expensive_; }  ///< One of the steps declares itself so.
  [[nodiscard]] StepScratch scratch() const;
  /// Whether only the steps use the column: it is a result of one of them and no tensor of the batch.
  [[nodiscard]] bool lies_between(ColumnId id) const { return between_[static_cast<std::size_t>(id)]; }
  /// Rows that are worked on together, at least 1. A ticket of fewer rows is one range.
  [[nodiscard]] std::int64_t rows_together(const Ticket& ticket) const;

  struct Failure {
    Error error;
    std::int64_t row = 0;     ///< Of the ticket.
    bool of_the_row = false;  ///< Its place is a row; else it is about the batch.
  };
  /// Adds the faults of rows to the ticket. Throws Closed when the run is stopped.
  [[nodiscard]] std::optional<Failure> run(Ticket& ticket, StepScratch& scratch) const;
  [[nodiscard]] std::string take_note() const { return notes_.take(); }  ///< RowNotes::take, for any thread.

 private:
  struct Made {
    ColumnId id;
    bool fixed;  // numbers of a known shape
    bool kept;   // a tensor of the batch is made of it
  };
  [[nodiscard]] bool skips(const std::optional<Failure>& failed) const {
    return failed && failed->of_the_row && skips_row(program_->on_corrupt, failed->error);
  }
  [[nodiscard]] std::optional<Failure> apply(ColumnBlock& rows, std::int64_t first, Ticket& ticket,
                                             StepScratch& scratch) const;
  [[nodiscard]] std::optional<Failure> apply_to_range(std::int64_t first, std::int64_t count, Ticket& ticket,
                                                      StepScratch& scratch) const;
  [[nodiscard]] std::optional<Failure> each_row(std::int64_t first, std::int64_t count, Ticket& ticket,
                                                StepScratch& scratch) const;
  void view(std::int64_t first, std::int64_t count, ColumnBlock& all, ColumnBlock& range) const;
  void make_blank(std::int64_t row, ColumnBlock& all) const;
  void account(StepScratch& scratch) const;

  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<BufferPool> pool_;
  const StepClock& clock_;
  std::vector<ColumnId> inputs_;    // columns that steps read and none makes
  std::vector<Made> made_;          // columns that the steps make
  std::vector<bool> between_;       // by column
  std::int64_t between_bytes_ = 0;  // bytes of a row in the columns between steps that have a known shape
  bool expensive_ = false;
  bool grows_between_ = false;  // there are others
  mutable RowNotes notes_;
};

}  // namespace forebay::engine
