// SPDX-License-Identifier: Apache-2.0
// The functions of Executor for rows that are spans of elements.
#include <algorithm>

#include <fmt/core.h>

#include "engine/memory/catch_all.h"
#include "engine/memory/pool_budget.h"
#include "engine/tickets/executor.h"
#include "engine/tickets/row_identities.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t max_kept = std::int64_t{1} << 20;  // bytes; more is kept where the budget has room again

/// Bytes of one element's values.
std::int64_t bytes_of_element(const Column& column, std::int64_t element) {
  const columns::ElementExtent extent = columns::Elements::of(column)[element];
  const std::int64_t count = extent.frames * extent.frame_elements;
  if (column.dtype != DType::string) return count * static_cast<std::int64_t>(size_of(column.dtype));
  const std::int64_t* const ends = column.byte_splits.as<std::int64_t>() + extent.first;
  return ends[count] - ends[0] + count * static_cast<std::int64_t>(sizeof(std::int64_t));
}

}  // namespace

/// Makes the rows of a ticket of spans, before the steps on rows.
std::optional<RowError> Executor::take(Ticket& ticket, Worker& worker) const {
  TakeMemory& memory = *worker.take;
  take_->choose(ticket, memory);
  if (take_->needs_columns(memory)) {
    auto failed = make_elements(worker);
    account_elements(memory);
    if (failed) {
      failed->row = TakeRows::row_of(ticket, memory, failed->row);
      return failed;
    }
  }
  auto fault = take_->fill(ticket, memory, *pool_);
  if (memory.ticket.columns && memory.ticket.columns->charge.bytes() >= max_kept &&
      pool_->over(memory.ticket.columns->charge.bytes())) {
    memory.ticket.columns.reset();
    memory.steps.clear();
  }
  if (!fault) return std::nullopt;
  if (fault->element >= 0) fault->error = errors_.of_record(memory.elements, fault->error, fault->element);
  return RowError{fault->error, fault->row};
}

/// Decodes the elements of a ticket, or copies them from their row blocks, and applies the steps on elements. The row
/// of an error is that of the element.
std::optional<RowError> Executor::make_elements(Worker& worker) const {
  TakeMemory& memory = *worker.take;
  Ticket& elements = memory.ticket;
  if (!elements.columns) {
    elements.columns = std::make_unique<TicketColumns>();
    elements.columns->block = columns_of(program_->schema, pool_.get());
  }
  ColumnBlock& block = elements.columns->block;
  block.rows = elements.rows;
  for (const ColumnId id : take_->element_columns()) {
    Column& column = block[id];
    column.clear();
    if (column.fixed() && column.dtype != DType::string) column.set_rows(elements.rows);
  }
  if (gather_) {
    gather_->run(memory.elements.layout, 0, elements.rows, memory.copied, block, *pool_);
  } else if (auto failed = fill(elements, worker)) {
    return failed;
  }
  if (auto failed = apply_element_steps(memory)) return failed;
  return too_large_element(elements);
}

/// Steps on elements draw nothing and fail at the first bad element: the planner refuses other plans.
std::optional<RowError> Executor::apply_element_steps(TakeMemory& memory) const {
  const Ticket& elements = memory.ticket;
  const std::vector<PlacedStep>& steps = program_->taking->element_steps;
  for (std::size_t i = memory.steps.size(); i < steps.size(); ++i) memory.steps.push_back(steps[i].step->memory());
  const PoolBudget budget{*pool_};
  const LayoutRows identities{elements.job->layout, program_->source, 0};
  StepContext context{.seed = program_->seed, .step = 0, .rows = &identities, .stop = pool_.get(), .budget = &budget};
  for (; context.step < steps.size(); ++context.step) {
    const PlacedStep& placed = steps[context.step];
    pool_->look();
    Result<void> done;
    if (auto thrown = catch_all(
            [&] { done = placed.step->apply(elements.columns->block, context, memory.steps[context.step].get()); })) {
      const Error error = thrown->at(fmt::format("batch {}, {}", elements.job->layout.number, placed.name));
      return RowError{error, 0};  // it saw all elements at once
    }
    if (done.ok()) continue;
    const std::int64_t element = std::max<std::int64_t>(0, done.error().place().row);
    return RowError{errors_.of_record(*elements.job, done.error().at(placed.name), element), element};
  }
  return std::nullopt;
}

/// An element that alone needs more than the budget. The elements of a ticket do not count together: which ones they
/// are depends on the number of threads.
std::optional<RowError> Executor::too_large_element(const Ticket& elements) const {
  std::int64_t all = 0;
  for (const ColumnId id : take_->element_columns()) all += owned_bytes(elements.columns->block[id]);
  for (std::int64_t i = 0; all > pool_->limit() && i < elements.rows; ++i) {
    std::int64_t bytes = 0;
    for (const ColumnId id : take_->element_columns()) {
      const Column& column = elements.columns->block[id];
      if (column.rows > i) bytes += bytes_of_element(column, i);
    }
    if (bytes <= pool_->limit()) continue;
    const Error error{Code::data, Detail::resource_exhausted,
                      fmt::format("this record decodes to {} bytes, more than the memory budget of {} bytes; raise "
                                  "`memory` or drop the outlier",
                                  bytes, pool_->limit())};
    return RowError{errors_.of_record(*elements.job, error, i), i};
  }
  return std::nullopt;
}

/// Charges the columns of the elements, and what the steps on them keep, to the budget.
void Executor::account_elements(TakeMemory& memory) const {
  if (!memory.ticket.columns) return;
  std::int64_t owned = 0;
  for (const auto& step : memory.steps) owned += step == nullptr ? 0 : step->bytes();
  for (const ColumnId id : take_->element_columns()) owned += owned_bytes(memory.ticket.columns->block[id]);
  memory.ticket.columns->charge.set(*pool_, owned);
}

}  // namespace forebay::engine
