// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"
#include "engine/tickets/executor.h"
#include "engine/tickets/job.h"

namespace forebay::engine {

/// Fills the tickets of a combination. Each branch has an Executor of its own, which decodes the rows of the branch
/// into its own columns; then the rows are merged into the columns of the ticket:
///
///     ticket: rows  0 a0 │ 1 b0 │ 2 a1 │ 3 a2        side by side: row i = a_i and b_i
///     branch a  decode, steps ─► columns a0 a1 a2 ─┐
///                                                  ├─► merge ─► columns of the ticket, in place where the size is
///                                                  fixed
///     branch b  decode, steps ─► columns b0 ───────┘
///
/// Const while running: any number of workers call it at once, each with its own Workers. The Executor of the whole
/// program owns it.
class BranchTickets {
 public:
  BranchTickets(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, std::int64_t threads);

  [[nodiscard]] std::vector<Worker> workers(std::size_t number) const;
  /// Takes the layouts of the branches out of the layout of the job, and counts their bytes in private memory.
  void begin(Job& job) const;
  void cut(Job& job) const;  ///< Cuts the jobs of the branches where the tickets of the job are cut.
  void end(Job& job) const;  ///< Gives the layouts back.
  /// Decodes the rows of a ticket and merges them into its columns. Returns the error of the lowest row.
  [[nodiscard]] std::optional<RowError> fill(Ticket& ticket, std::vector<Worker>& workers) const;
  [[nodiscard]] std::optional<Error> find_cut_short(const Job& job) const;
  [[nodiscard]] std::string take_note() const;                  ///< Executor::take_note of the branches.
  [[nodiscard]] std::vector<StepSeconds> step_seconds() const;  ///< Of the branches, which the names tell.
  /// The error with the place of the record of a row; side by side that of the first branch.
  [[nodiscard]] Error place(const Job& job, const Error& error, std::int64_t row) const;

 private:
  [[nodiscard]] std::optional<RowError> run(Job& branch, std::size_t number, std::size_t ticket, Worker& worker) const;
  static void take_faults(Job& branch, std::size_t number, std::size_t part_number, Ticket& ticket);
  void merge(Ticket& ticket, std::size_t number) const;

  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<BufferPool> pool_;
  std::vector<std::unique_ptr<Executor>> executors_;  // by branch
};

}  // namespace forebay::engine
