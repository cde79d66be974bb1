// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/branch_tickets.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "columns/take/merge_rows.h"

namespace forebay::engine {

BranchTickets::BranchTickets(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool,
                             std::int64_t threads)
    : program_{std::move(program)}, pool_{std::move(pool)} {
  for (const Program& branch : program_->branches)
    executors_.push_back(std::make_unique<Executor>(std::shared_ptr<const Program>{program_, &branch}, pool_, threads));
}

std::vector<Worker> BranchTickets::workers(std::size_t number) const {
  std::vector<Worker> out;
  for (const auto& executor : executors_) out.push_back(executor->worker(number));
  return out;
}

void BranchTickets::begin(Job& job) const {
  while (job.branches.size() < executors_.size()) job.branches.push_back(std::make_unique<Job>());
  job.record_bytes = 0;
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    Job& branch = *job.branches[i];
    std::swap(branch.layout, job.layout.branches[i]);
    std::int64_t bytes = 0;
    for (const Handle& handle : branch.layout.handles) bytes += handle.length;
    executors_[i]->find_records(branch, bytes);
    branch.decoded.store(0, std::memory_order_relaxed);
    job.record_bytes += branch.record_bytes;
  }
}

void BranchTickets::cut(Job& job) const {
  for (const auto& branch : job.branches) {
    while (branch->tickets.size() < job.cut) branch->tickets.push_back(std::make_unique<Ticket>());
    branch->cut = job.cut;
    const std::vector<std::int64_t>& rows = branch->layout.row_of;
    const auto place_of = [&](std::int64_t row) {
      return static_cast<std::int64_t>(std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
    };
    for (std::size_t i = 0; i < job.cut; ++i) {
      const Ticket& whole = *job.tickets[i];
      Ticket& part = *branch->tickets[i];
      part.job = branch.get();
      part.faults.clear();
      part.bad.clear();
      part.first_row = place_of(whole.first_row);
      part.rows = place_of(whole.first_row + whole.rows) - part.first_row;
    }
  }
}

void BranchTickets::end(Job& job) const {
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    std::swap(job.branches[i]->layout, job.layout.branches[i]);
    job.layout.branches[i].payloads.clear();  // of records that are gone when the batch is out
  }
}

/// Fills the columns of one branch. The error is of a row of the batch.
std::optional<RowError> BranchTickets::run(Job& branch, std::size_t number, std::size_t ticket, Worker& worker) const {
  Ticket& part = *branch.tickets[ticket];
  if (part.rows == 0) return std::nullopt;
  const auto row_of = [&](std::int64_t row) {
    return branch.layout.row_of[static_cast<std::size_t>(std::min(row, std::ssize(branch.layout.row_of) - 1))];
  };
  if (auto failed = executors_[number]->run(part, worker)) return RowError{failed->error, row_of(failed->row)};
  if (part.columns) return std::nullopt;
  return RowError{
      Error{Code::data, Detail::resource_exhausted,
            fmt::format("batch {} needs more than the memory budget of {} bytes for what the rows of branch "
                        "{} decode to; raise `memory`, make batches smaller, or drop the outlier",
                        branch.layout.number, pool_->limit(), number)},
      row_of(part.first_row)};
}

std::optional<RowError> BranchTickets::fill(Ticket& ticket, std::vector<Worker>& workers) const {
  Job& job = *ticket.job;
  const auto number = static_cast<std::size_t>(std::ranges::find(job.tickets, &ticket, &std::unique_ptr<Ticket>::get) -
                                               job.tickets.begin());
  std::optional<RowError> first;
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    auto failed = run(*job.branches[i], i, number, workers[i]);
    if (failed && (!first || failed->row < first->row)) first = std::move(failed);
  }
  if (!first) {
    merge(ticket, number);
    for (std::size_t i = 0; i < executors_.size(); ++i) take_faults(*job.branches[i], i, number, ticket);
  }
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    Ticket& part = *job.branches[i]->tickets[number];
    if (part.columns) executors_[i]->give_back(std::move(part.columns));
  }
  return first;
}

/// A row of the ticket is bad when the part of one branch is.
void BranchTickets::take_faults(Job& branch, std::size_t number, std::size_t part_number, Ticket& ticket) {
  Ticket& part = *branch.tickets[part_number];
  for (RowFault& fault : part.faults) {
    const std::int64_t row = branch.layout.row_of[static_cast<std::size_t>(part.first_row + fault.row)];
    ticket.add_fault(row - ticket.first_row, std::move(fault.error), number);
  }
}

void BranchTickets::merge(Ticket& ticket, std::size_t number) const {
  const Job& job = *ticket.job;
  std::vector<columns::MergedRows> from(executors_.size());
  for (const MergedColumn& merged : program_->merged) {
    for (std::size_t i = 0; i < executors_.size(); ++i) {
      const Job& branch = *job.branches[i];
      const Ticket& part = *branch.tickets[number];
      const bool filled = merged.from[i] == MergedColumn::filled;
      from[i] = {.column = filled || part.rows == 0 ? nullptr : &part.columns->block[merged.from[i]],
                 .rows = std::span{branch.layout.row_of}.subspan(static_cast<std::size_t>(part.first_row),
                                                                 static_cast<std::size_t>(part.rows))};
    }
    // Side by side, one branch alone has the tensor.
    const bool alone = !program_->combining.make;
    const auto owner = std::ranges::find_if(merged.from, [](ColumnId id) { return id != MergedColumn::filled; });
    const auto some =
        alone ? std::span{from}.subspan(static_cast<std::size_t>(owner - merged.from.begin()), 1) : std::span{from};
    columns::merge_rows(some, {.first = ticket.first_row, .count = ticket.rows}, merged.fill,
                        ticket.columns->block[merged.id], *pool_);
  }
}

std::vector<StepSeconds> BranchTickets::step_seconds() const {
  std::vector<StepSeconds> out;
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    for (StepSeconds& step : executors_[i]->step_seconds())
      out.push_back({.name = fmt::format("branch {}: {}", i, step.name), .seconds = step.seconds});
  }
  return out;
}

std::string BranchTickets::take_note() const {
  for (const auto& executor : executors_)
    if (std::string note = executor->take_note(); !note.empty()) return note;
  return {};
}

std::optional<Error> BranchTickets::find_cut_short(const Job& job) const {
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    if (auto failed = executors_[i]->errors().find_cut_short(*job.branches[i])) return failed;
  }
  return std::nullopt;
}

Error BranchTickets::place(const Job& job, const Error& error, std::int64_t row) const {
  for (std::size_t i = 0; i < executors_.size(); ++i) {
    const std::vector<std::int64_t>& rows = job.branches[i]->layout.row_of;
    const auto found = std::lower_bound(rows.begin(), rows.end(), row);
    if (found != rows.end() && *found == row)
      return executors_[i]->errors().of_record(*job.branches[i], error, found - rows.begin());
  }
  return error;
}

}  // namespace forebay::engine
