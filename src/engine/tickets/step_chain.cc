// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/step_chain.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "columns/take/column_rows.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/pool_budget.h"
#include "engine/tickets/row_identities.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t max_between = std::int64_t{256} << 10;  // bytes that lie between two steps, or one row
constexpr std::int64_t large_scratch = std::int64_t{1} << 20;  // less is not worth making anew

bool fixed_numbers(const ColumnSpec& spec) { return spec.shape.known() && spec.dtype != DType::string; }

/// Adds the faults of one call to the ticket. A row that has one already is left as it is.
class TicketFaults final : public RowFaults {
 public:
  TicketFaults(Ticket& ticket, std::int64_t first) : ticket_{ticket}, first_{first} {}
  void add(std::int64_t row, Error error) override { ticket_.add_fault(first_ + row, std::move(error)); }
  /// Names the step in the errors of the faults from `from` on.
  void name(std::size_t from, const std::string& step) const {
    for (std::size_t i = from; i < ticket_.faults.size(); ++i)
      ticket_.faults[i].error = ticket_.faults[i].error.at(step);
  }

 private:
  Ticket& ticket_;
  const std::int64_t first_;
};

/// Names the step in what it tells of rows.
class ChainNotes final : public StepNotes {
 public:
  ChainNotes(RowNotes& notes, const RowIdentities& rows) : notes_{notes}, rows_{rows} {}
  void add(std::int64_t row, const std::string& text) override {
    notes_.add(rows_, row, fmt::format("{}: {}", *step, text));
  }
  const std::string* step = nullptr;  // its name

 private:
  RowNotes& notes_;
  const RowIdentities& rows_;
};

}  // namespace

StepChain::StepChain(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, const StepClock& clock)
    : program_{std::move(program)}, pool_{std::move(pool)}, clock_{clock}, between_(program_->schema.size()) {
  std::vector<bool> made(program_->schema.size());
  for (const PlacedStep& step : program_->late) {
    expensive_ = expensive_ || step.expensive;
    for (const ColumnId id : step.reads) {
      if (!made[static_cast<std::size_t>(id)] && std::ranges::find(inputs_, id) == inputs_.end()) inputs_.push_back(id);
    }
    for (const ColumnId id : step.makes) {
      made[static_cast<std::size_t>(id)] = true;
      const ColumnSpec& spec = program_->schema[id];
      const bool kept = std::ranges::any_of(program_->batched, [id](const Output& output) { return output.id == id; });
      made_.push_back({.id = id, .fixed = fixed_numbers(spec), .kept = kept});
      if (kept) continue;
      between_[static_cast<std::size_t>(id)] = true;
      if (!fixed_numbers(spec)) {
        grows_between_ = true;
      } else if (__builtin_add_overflow(between_bytes_,
                                        spec.shape.count() * static_cast<std::int64_t>(size_of(spec.dtype)),
                                        &between_bytes_)) {
        between_bytes_ = max_between;
      }
    }
  }
}

StepScratch StepChain::scratch() const {
  StepScratch out;
  for (const PlacedStep& placed : program_->late) out.memories.push_back(placed.step->memory());
  return out;
}

std::int64_t StepChain::rows_together(const Ticket& ticket) const {
  std::int64_t rows = ticket.rows;
  if (between_bytes_ > 0) rows = std::min(rows, max_between / between_bytes_);
  if (grows_between_ && ticket.bytes > max_between) rows = std::min(rows, ticket.rows * max_between / ticket.bytes);
  return std::max<std::int64_t>(1, rows);
}

std::optional<StepChain::Failure> StepChain::run(Ticket& ticket, StepScratch& scratch) const {
  const std::int64_t together = rows_together(ticket);
  std::int64_t at_once = together;
  if (together >= ticket.rows) {
    const std::size_t faults = ticket.faults.size();
    auto failed = apply(ticket.columns->block, 0, ticket, scratch);
    if (!skips(failed)) {
      account(scratch);
      return failed;
    }
    ticket.drop_faults(faults);
    for (const Made& made : made_) {
      if (!made.fixed) ticket.columns->block[made.id].clear();
    }
    at_once = 16;
  }
  for (std::int64_t first = 0; first < ticket.rows; first += at_once) {
    const std::int64_t count = std::min(at_once, ticket.rows - first);
    const std::size_t faults = ticket.faults.size();
    auto failed = apply_to_range(first, count, ticket, scratch);
    if (skips(failed)) {
      ticket.drop_faults(faults);
      failed = each_row(first, count, ticket, scratch);
    }
    if (failed) return failed;
  }
  account(scratch);
  return std::nullopt;
}

std::optional<StepChain::Failure> StepChain::each_row(std::int64_t first, std::int64_t count, Ticket& ticket,
                                                      StepScratch& scratch) const {
  for (std::int64_t row = first; row < first + count; ++row) {
    if (!ticket.has_fault(row)) {
      auto failed = apply_to_range(row, 1, ticket, scratch);
      if (!failed) continue;
      if (!skips(failed)) return failed;
      ticket.add_fault(row, std::move(failed->error));
    }
    make_blank(row, ticket.columns->block);
  }
  return std::nullopt;
}

void StepChain::make_blank(std::int64_t row, ColumnBlock& all) const {
  for (const Made& made : made_) {
    Column& column = all[made.id];
    if (!made.kept) continue;
    if (!made.fixed) {
      columns::append_blank(column, 1);
    } else if (const std::size_t bytes = column.row_bytes(); bytes > 0) {
      std::memset(column.values.data() + static_cast<std::size_t>(row) * bytes, 0, bytes);
    }
  }
}

/// Makes the columns of `range` views of some rows, or columns without rows for the steps to fill.
void StepChain::view(std::int64_t first, std::int64_t count, ColumnBlock& all, ColumnBlock& range) const {
  if (range.columns.empty()) range = columns_of(program_->schema, pool_.get());
  range.rows = count;
  for (const ColumnId id : inputs_) columns::view_rows(all[id], first, count, range[id]);
  for (const Made& made : made_) {
    if (made.fixed && made.kept) {
      columns::view_rows(all[made.id], first, count, range[made.id]);
      continue;
    }
    range[made.id].clear();
    if (made.fixed) range[made.id].set_rows(count);
  }
}

std::optional<StepChain::Failure> StepChain::apply_to_range(std::int64_t first, std::int64_t count, Ticket& ticket,
                                                            StepScratch& scratch) const {
  ColumnBlock& all = ticket.columns->block;
  view(first, count, all, scratch.range);
  if (auto failed = apply(scratch.range, first, ticket, scratch)) return failed;
  for (const Made& made : made_) {
    if (made.kept && !made.fixed) columns::append_rows(scratch.range[made.id], 0, count, all[made.id]);
  }
  return std::nullopt;
}

/// Applies all steps to `rows`, whose first one is row `first` of the ticket.
std::optional<StepChain::Failure> StepChain::apply(ColumnBlock& rows, std::int64_t first, Ticket& ticket,
                                                   StepScratch& scratch) const {
  const LayoutRows identities{ticket.job->layout, program_->source, ticket.first_row + first};
  const PoolBudget budget{*pool_};
  TicketFaults faults{ticket, first};
  ChainNotes notes{notes_, identities};
  StepContext context{.seed = program_->seed,
                      .step = 0,
                      .rows = &identities,
                      .stop = pool_.get(),
                      .faults = program_->on_corrupt.policy == Corrupt::skip_row ? &faults : nullptr,
                      .budget = &budget,
                      .notes = &notes};
  auto since = std::chrono::steady_clock::now();
  for (; context.step < program_->late.size(); ++context.step) {
    const PlacedStep& placed = program_->late[context.step];
    pool_->look();
    notes.step = &placed.name;
    const std::size_t before = ticket.faults.size();
    Result<void> done;
    if (auto thrown =
            catch_all([&] { done = placed.step->apply(rows, context, scratch.memories[context.step].get()); }))
      return Failure{thrown->at(fmt::format("batch {}, {}", ticket.job->layout.number, placed.name))};
    faults.name(before, placed.name);
    const auto now = std::chrono::steady_clock::now();
    clock_.add(context.step, now - std::exchange(since, now));
    if (done.ok()) continue;
    const std::int64_t row = first + std::max<std::int64_t>(0, done.error().place().row);
    return Failure{.error = done.error().at(placed.name), .row = row, .of_the_row = true};
  }
  return std::nullopt;
}

/// Charges what the steps keep, and frees what a large row has left when the budget has no room for as much again.
void StepChain::account(StepScratch& scratch) const {
  std::int64_t bytes = 0;
  for (const auto& memory : scratch.memories) bytes += memory == nullptr ? 0 : memory->bytes();
  for (const Made& made : made_) {
    if (!scratch.range.columns.empty()) bytes += owned_bytes(scratch.range[made.id]);
  }
  scratch.charge.set(*pool_, bytes);
  if (bytes < large_scratch || !pool_->over(bytes)) return;
  scratch.range = {};
  for (std::size_t i = 0; i < scratch.memories.size(); ++i) scratch.memories[i] = program_->late[i].step->memory();
  scratch.charge.set(*pool_, 0);
}

}  // namespace forebay::engine
