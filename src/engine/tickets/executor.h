// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <forebay/loader.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/ticket_columns.h"
#include "engine/program/program.h"
#include "engine/tickets/error_places.h"
#include "engine/tickets/finish/batch_maker.h"
#include "engine/tickets/job.h"
#include "engine/tickets/record_rows.h"
#include "engine/tickets/row_gather.h"
#include "engine/tickets/step_chain.h"
#include "engine/tickets/step_clock.h"
#include "engine/tickets/take/take_rows.h"
#include "engine/tickets/ticket_cost.h"
#include "engine/tickets/worker.h"

namespace forebay::engine {

class BranchTickets;

/// Turns layouts into batches. Const while running: any number of workers call it at once, each with its own Worker.
/// When the pool is closed, `run` and `finish` throw Closed.
///
/// Records become rows in RecordRows. Rows that come ready are copied (RowGather), and those of branches are merged
/// (BranchTickets). Then the steps of the plan run (StepChain), and BatchMaker joins the columns of the tickets.
///
/// Where rows are spans of elements (Program::taking), the elements of a ticket go this way into columns of the worker,
/// and TakeRows copies the spans from there into the rows.
class Executor {
 public:
  Executor(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, std::int64_t threads);
  ~Executor();

  [[nodiscard]] Worker worker(std::size_t number) const;
  /// Cuts tickets by bytes and by the time that earlier tickets took. Fails when the rows that they fill need more than
  /// the budget.
  [[nodiscard]] Result<void> cut(Job& job) const;
  [[nodiscard]] std::optional<RowError> run(Ticket& ticket, Worker& worker) const;  ///< Copy, verify, decode, steps.
  [[nodiscard]] std::optional<Error> finish(Job& job) const;  ///< Called after the last ticket. Makes `content`.
  /// The next line that a step has for people; empty when there is none. Any thread.
  [[nodiscard]] std::string take_note() const;
  /// How long each step took; those of branches first. Any thread.
  [[nodiscard]] std::vector<StepSeconds> step_seconds() const;

  /// Says which records of the job are copied before they are decoded, and how many bytes those in private memory have.
  /// `bytes`: of all records.
  void find_records(Job& job, std::int64_t bytes) const;
  void give_back(std::unique_ptr<TicketColumns> columns) const { columns_->give(std::move(columns)); }
  [[nodiscard]] const ErrorPlaces& errors() const { return errors_; }

 private:
  [[nodiscard]] std::optional<RowError> fill(Ticket& ticket, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> take(Ticket& ticket, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> make_elements(Worker& worker) const;
  [[nodiscard]] std::optional<RowError> apply_element_steps(TakeMemory& memory) const;
  [[nodiscard]] std::optional<RowError> too_large_element(const Ticket& elements) const;
  void account_elements(TakeMemory& memory) const;
  [[nodiscard]] std::optional<RowError> apply_steps(Ticket& ticket, Worker& worker) const;
  void account(Ticket& ticket) const;
  void cut_tickets(Job& job, std::int64_t bytes) const;
  [[nodiscard]] Result<std::int64_t> bytes_of(const Job& job, std::int64_t bytes) const;
  void lend_rows(Job& job) const;
  void bind_columns(Ticket& ticket) const;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<BufferPool> pool_;
  const std::int64_t threads_;
  std::vector<ColumnId> used_;          // columns that a ticket fills
  std::vector<std::size_t> row_bytes_;  // by batched output; 0 where rows are not written in place
  std::vector<ColumnId> in_place_;      // by column: its batched output, or -1
  std::unique_ptr<ColumnPool> columns_;
  const StepClock clock_;
  const StepChain chain_;
  mutable TicketCost cost_;
  const std::optional<RowGather> gather_;                // set: the rows come ready
  const std::unique_ptr<const TakeRows> take_;           // set: rows are spans of elements
  const std::unique_ptr<const BranchTickets> branches_;  // set: the rows are those of several branches
  const ErrorPlaces errors_;
  const RecordRows records_;
  const BatchMaker maker_;
};

}  // namespace forebay::engine
