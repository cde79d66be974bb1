// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/executor.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "engine/memory/prefault.h"
#include "engine/tickets/branch_tickets.h"
#include "engine/tickets/finish/finish.h"
#include "engine/tickets/prefetch.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t ticket_bytes = std::int64_t{256} << 10;
constexpr std::int64_t ready_row_bytes = 256;  // what a row that comes ready counts; its bytes are not known
constexpr std::int64_t max_ticket_bytes = std::int64_t{8} << 20;  // nobody looks for a stop inside a ticket

}  // namespace

Executor::Executor(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, std::int64_t threads)
    : program_{std::move(program)},
      pool_{std::move(pool)},
      threads_{threads},
      clock_{program_->late.size() + program_->after.size()},
      chain_{program_, pool_, clock_},
      gather_{program_->source.rows ? std::optional<RowGather>{*program_} : std::nullopt},
      take_{program_->taking ? std::make_unique<const TakeRows>(*program_) : nullptr},
      branches_{program_->branches.empty() ? nullptr : std::make_unique<BranchTickets>(program_, pool_, threads)},
      errors_{program_, branches_.get()},
      records_{program_, pool_, errors_},
      maker_{program_, pool_, clock_, errors_, branches_.get()} {
  used_ = take_ ? take_->columns() : program_->decoded;
  for (const PlacedStep& step : program_->late) used_.insert(used_.end(), step.makes.begin(), step.makes.end());
  in_place_.assign(program_->schema.size(), -1);
  for (const Output& output : program_->batched) {
    const bool in_place = output.spec.shape.known() && output.spec.dtype != DType::string && !changes_shape(output);
    row_bytes_.push_back(in_place ? static_cast<std::size_t>(output.spec.shape.count()) * size_of(output.spec.dtype)
                                  : 0);
    if (in_place) in_place_[static_cast<std::size_t>(output.id)] = static_cast<ColumnId>(row_bytes_.size() - 1);
  }
  std::vector<ColumnId> growing;
  std::copy_if(used_.begin(), used_.end(), std::back_inserter(growing),
               [this](ColumnId id) { return in_place_[static_cast<std::size_t>(id)] < 0; });
  columns_ = std::make_unique<ColumnPool>(program_, pool_, std::move(growing));
}

Executor::~Executor() = default;

Worker Executor::worker(std::size_t number) const {
  return {.number = number,
          .memory = program_->decoder ? program_->decoder->memory() : nullptr,
          .charge = {},
          .records = {},
          .copies = RecordCopies{records_.trailer()},
          .wanted = {},
          .take = take_ ? std::make_unique<TakeMemory>() : nullptr,
          .steps = chain_.scratch(),
          .branches = branches_ ? branches_->workers(number) : std::vector<Worker>{}};
}

void Executor::cut_tickets(Job& job, std::int64_t bytes) const {
  const std::int64_t rows = take_ ? take_->sizes().pieces(job.layout) : job.layout.filled_rows();
  const std::int64_t max = threads_ == 1 ? 1 : std::max<std::int64_t>(1, std::min(rows, 4 * threads_));
  const std::int64_t row_weight = gather_ && !take_ ? ready_row_bytes : 0;
  const std::int64_t weight = bytes + rows * row_weight;
  const std::int64_t cost = cost_.of(weight);
  const std::int64_t count = std::max({std::clamp<std::int64_t>(bytes / ticket_bytes, 1, max), bytes / max_ticket_bytes,
                                       std::min(rows, cost / TicketCost::wanted_ns)});
  const std::int64_t share = weight / count + 1;
  job.large = bytes + job.fixed_bytes > large_bytes || cost / count > TicketCost::long_ns || chain_.expensive();
  const bool grows = std::ranges::count(job.row_bytes, std::size_t{0}) > 0;
  job.expected_bytes = job.record_bytes + job.fixed_bytes + (grows ? 2 * bytes : 0);  // decoded, then copied
  job.made_bytes = job.tensor_bytes = 0;
  job.cut = 0;
  job.skipped.clear();
  job.decoded.store(0, std::memory_order_relaxed);
  if (take_) {
    take_->sizes().cut(count == 1 ? TakeSizes::one_ticket : share, job);
    for (std::size_t i = 0; i < job.cut; ++i) job.tickets[i]->bytes = weight / static_cast<std::int64_t>(job.cut);
    job.remaining = job.cut;
    return;
  }
  std::int64_t row = 0;
  while (row < rows || job.cut == 0) {
    Ticket& ticket = job.add_ticket(row);
    ticket.bytes = count == 1 ? weight : 0;
    if (count == 1) row = rows;
    for (; row < rows && ticket.bytes < share; ++row)
      ticket.bytes += job.layout.handles[static_cast<std::size_t>(row)].length + row_weight;
    ticket.rows = row - ticket.first_row;
  }
  job.remaining = job.cut;
}

/// Bytes of the tensors of fixed size. Fails when the batch cannot fit into the budget: these tensors, the private
/// records, one record that is larger than the budget, and the other tensors' rows that no record fills. `bytes`: of
/// all records.
Result<std::int64_t> Executor::bytes_of(const Job& job, std::int64_t bytes) const {
  const BatchLayout& layout = job.layout;
  const std::int64_t record_bytes = job.record_bytes;
  const std::int64_t empty_rows = layout.rows - layout.filled_rows();
  std::int64_t size = 0;  // of tensors of fixed size
  std::int64_t rest = 0;  // of the others at least: a number says how long a row is
  bool huge = false;
  const auto add = [&](std::int64_t& sum, std::size_t row_bytes, std::int64_t rows) {
    std::int64_t more = 0;
    huge = huge || __builtin_mul_overflow(row_bytes, rows, &more) || __builtin_add_overflow(sum, more, &sum) ||
           __builtin_add_overflow(sum, cache_line, &sum);
  };
  bool others = false;
  for (const std::size_t row_bytes : job.row_bytes) {
    others = others || row_bytes == 0;
    if (row_bytes > 0) {
      add(size, row_bytes, layout.rows);
    } else if (empty_rows > 0) {
      add(rest, sizeof(std::int64_t), empty_rows);
    }
  }
  std::int64_t all = 0;
  huge = huge || __builtin_add_overflow(size, rest, &all);
  std::int64_t copied = 0;  // a record that is larger than the budget: it would be copied
  if (job.copied != RecordCopy::none && bytes > pool_->limit()) {
    for (const Handle& handle : layout.handles)
      if (handle.length > pool_->limit()) copied = std::max(copied, std::int64_t{handle.length});
  }
  if (!huge && all + record_bytes + copied <= pool_->limit()) return size;
  std::string needed = huge ? "more than 2^63" : std::to_string(size + record_bytes + copied);
  std::string fixed;
  if (others && !huge) {  // what they will need is not known, but it comes out of the records
    fixed = fmt::format(" ({} of them for tensors of fixed size)", size);
    for (const Handle& handle : layout.handles) all += 2 * std::int64_t{handle.length};  // decoded, then copied
    needed = fmt::format("about {}", all + record_bytes);
  }
  return Error{Code::data, Detail::resource_exhausted,
               fmt::format("batch {} needs {} bytes for its {} rows{}, more than the memory budget of {} bytes; raise "
                           "`memory` or make batches smaller",
                           layout.number, needed, layout.rows, fixed, pool_->limit())};
}

void Executor::find_records(Job& job, std::int64_t bytes) const {
  const auto mapped =
      std::ranges::count_if(job.layout.blocks, [](const UsedBlock& used) { return used.mapping != nullptr; });
  job.copied = mapped == 0 || records_.copies_only()                                    ? RecordCopy::none
               : mapped < std::ssize(job.layout.blocks) || !job.layout.unmapped.empty() ? RecordCopy::mapped
                                                                                        : RecordCopy::all;
  job.record_bytes = gather_ || mapped == std::ssize(job.layout.blocks) ? 0 : bytes;
}

Result<void> Executor::cut(Job& job) const {
  std::int64_t bytes = 0;
  for (const Handle& handle : job.layout.handles) bytes += handle.length;
  find_records(job, bytes);
  if (branches_) branches_->begin(job);
  job.row_bytes = row_bytes_;
  if (take_) take_->sizes().measure(row_bytes_, job);
  FOREBAY_TRY(job.fixed_bytes, bytes_of(job, bytes));
  cut_tickets(job, take_ ? take_->sizes().bytes(job, bytes) : bytes);
  if (branches_) branches_->cut(job);
  if (job.cut > 1) lend_rows(job);
  if (gather_ || branches_) return {};
  const auto rows = static_cast<std::int64_t>(job.layout.handles.size());
  // Deciding the order leaves the memory idle, and the first ticket would wait for its first records. Of several
  // threads it is likely another that runs it, and has them fetched once more.
  for (std::int64_t row = 0; threads_ == 1 && row < std::min(rows, fetched_ahead); ++row)
    prefetch(job.layout.record(row), records_.trailer());
  return {};
}

/// Room for the rows of the fixed tensors: for a batch of one ticket when that is run, by the thread that fills it.
void Executor::lend_rows(Job& job) const {
  const auto all_rows = static_cast<std::size_t>(job.layout.rows);
  const auto bytes = static_cast<std::size_t>(job.fixed_bytes);
  job.fixed = bytes == 0 ? nullptr : program_->makes_rows ? pool_->lend(bytes) : pool_->lend_pinned(bytes);
  job.fixed_outputs.assign(job.row_bytes.size(), nullptr);
  std::byte* next = job.fixed.get();
  for (std::size_t i = 0; i < job.row_bytes.size(); ++i) {
    if (job.row_bytes[i] == 0) continue;
    job.fixed_outputs[i] = next;
    next += aligned(job.row_bytes[i] * all_rows);
  }
}

void Executor::bind_columns(Ticket& ticket) const {
  if (!ticket.columns) ticket.columns = columns_->take();
  ColumnBlock& block = ticket.columns->block;
  block.rows = ticket.rows;
  const bool ranges = chain_.rows_together(ticket) < ticket.rows;
  for (const ColumnId id : used_) {
    Column& column = block[id];
    const ColumnId output = in_place_[static_cast<std::size_t>(id)];
    if (output >= 0) {
      const std::size_t row_bytes = row_bytes_[static_cast<std::size_t>(output)];
      const std::span<std::byte> rows{ticket.job->fixed_outputs[static_cast<std::size_t>(output)] +
                                          static_cast<std::size_t>(ticket.first_row) * row_bytes,
                                      static_cast<std::size_t>(ticket.rows) * row_bytes};
      column.values.bind(rows.data(), rows.size());
      if (ticket.spans == Ticket::all_spans) find_pages(rows, *pool_);  // another ticket may write to the same row
    } else {
      column.clear();
    }
    if (ranges && chain_.lies_between(id)) continue;
    if (column.fixed() && column.dtype != DType::string) column.set_rows(ticket.rows);
  }
}

std::optional<RowError> Executor::run(Ticket& ticket, Worker& worker) const {
  if (ticket.job->cut == 1) lend_rows(*ticket.job);
  bind_columns(ticket);
  auto failed = take_ ? take(ticket, worker) : fill(ticket, worker);
  if (!chain_.empty()) {
    const auto since = std::chrono::steady_clock::now();
    if (!failed) failed = apply_steps(ticket, worker);
    cost_.add(ticket.bytes, std::chrono::steady_clock::now() - since);
  }
  account(ticket);
  return failed;
}

/// Fills the source's columns: copies rows that come ready, or decodes records.
std::optional<RowError> Executor::fill(Ticket& ticket, Worker& worker) const {
  if (branches_) return branches_->fill(ticket, worker.branches);
  if (gather_) {
    gather_->run(ticket.job->layout, ticket.first_row, ticket.rows, ticket.columns->block, *pool_);
    return std::nullopt;
  }
  return records_.fill(ticket, worker);
}

std::optional<RowError> Executor::apply_steps(Ticket& ticket, Worker& worker) const {
  const std::size_t faults = ticket.faults.size();
  const auto failed = chain_.run(ticket, worker.steps);
  for (std::size_t i = faults; i < ticket.faults.size(); ++i) {
    RowFault& fault = ticket.faults[i];
    fault.error = errors_.of_row(*ticket.job, fault.error, ticket.first_row + fault.row);
  }
  if (!failed) return std::nullopt;
  const std::int64_t row = ticket.first_row + failed->row;
  return RowError{failed->of_the_row ? errors_.of_row(*ticket.job, failed->error, row) : failed->error, row};
}

/// All tickets of a batch that exceeds the budget run, so that the error can say how large it is, but their columns are
/// freed.
void Executor::account(Ticket& ticket) const {
  ticket.job->decoded.fetch_add(columns_->account(*ticket.columns), std::memory_order_relaxed);
  if (ticket.job->bytes() > pool_->limit()) ticket.columns.reset();
}

std::optional<Error> Executor::finish(Job& job) const {
  auto failed = maker_.make(job);
  for (std::size_t i = 0; i < job.cut; ++i) {
    if (job.tickets[i]->columns) columns_->give(std::move(job.tickets[i]->columns));
  }
  return failed;
}

std::string Executor::take_note() const {
  std::string note = chain_.take_note();
  return note.empty() && branches_ ? branches_->take_note() : note;
}

std::vector<StepSeconds> Executor::step_seconds() const {
  std::vector<StepSeconds> out;
  if (branches_) out = branches_->step_seconds();
  std::size_t step = 0;
  for (const auto* steps : {&program_->late, &program_->after}) {
    for (const PlacedStep& placed : *steps) out.push_back({.name = placed.name, .seconds = clock_.seconds(step++)});
  }
  return out;
}

}  // namespace forebay::engine
