// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/record_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "columns/take/column_rows.h"
#include "engine/index/trial_decode.h"
#include "engine/memory/catch_all.h"
#include "engine/read/mapped_file.h"
#include "engine/tickets/prefetch.h"
#include "engine/tickets/worker.h"

namespace forebay::engine {

namespace {

constexpr std::size_t group_bytes = std::size_t{32} << 10;  // copied, verified, decoded in the first-level cache
constexpr std::size_t group_records = 16;

/// Records that are copied and verified by one call. As many more are fetched between the calls: a processor has some
/// two dozen lines on their way at once, and waits when it is asked for more.
constexpr std::size_t verified_together = 4;

bool written_in_place(const Column& column) { return column.fixed() && column.dtype != DType::string; }

constexpr std::int64_t large_memory = std::int64_t{1} << 20;  // a decoder's; less is not worth beginning anew

}  // namespace

/// Fetches the records of a ticket some rows ahead of their turn.
class RecordRows::Fetching {
 public:
  Fetching(const Ticket& ticket, std::size_t trailer)
      : layout_{ticket.job->layout}, first_{ticket.first_row}, rows_{ticket.rows}, trailer_{trailer} {}

  void to(std::int64_t end) {
    const std::int64_t begin_to = std::min(end + begun_ahead, rows_);
    const std::int64_t fetch_to = std::min(end, rows_);
    for (std::int64_t row = std::exchange(begun_, std::max(begun_, begin_to)); row < begin_to; ++row)
      __builtin_prefetch(record(row).data());
    for (std::int64_t row = std::exchange(fetched_, std::max(fetched_, fetch_to)); row < fetch_to; ++row)
      prefetch(record(row), trailer_);
  }
  [[nodiscard]] Record record(std::int64_t row) const { return layout_.record(first_ + row); }

 private:
  const BatchLayout& layout_;
  const std::int64_t first_;
  const std::int64_t rows_;
  const std::size_t trailer_;
  std::int64_t begun_ = 0;
  std::int64_t fetched_ = 0;
};

RecordRows::RecordRows(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool,
                       const ErrorPlaces& errors)
    : program_{std::move(program)},
      pool_{std::move(pool)},
      errors_{errors},
      trailer_{trailer_of(program_->source)},
      copies_only_{program_->decoder && program_->decoder->copies_only() && !program_->source.format->has_checksums()},
      files_{std::make_unique<FileCache>(program_->source.files, *pool_)} {}

std::optional<RowError> RecordRows::fill(Ticket& ticket, Worker& worker) const {
  std::shared_ptr<std::byte> memory;
  auto failed = read_unmapped(ticket, worker, memory);
  if (!failed) failed = decode(ticket, worker);
  account(worker);
  return failed;
}

/// Puts the ticket's records whose pages were given back into memory of its own.
std::optional<RowError> RecordRows::read_unmapped(Ticket& ticket, Worker& worker,
                                                  std::shared_ptr<std::byte>& memory) const {
  BatchLayout& layout = ticket.job->layout;
  const auto row_before = [](const Unmapped& record, std::int64_t row) { return record.row < row; };
  const auto end_of = [&](std::int64_t row) {
    return std::lower_bound(layout.unmapped.begin(), layout.unmapped.end(), row, row_before);
  };
  const std::span<const Unmapped> records{end_of(ticket.first_row), end_of(ticket.first_row + ticket.rows)};
  if (records.empty()) return std::nullopt;
  const auto length_of = [&](const Unmapped& record) {
    return layout.handles[static_cast<std::size_t>(record.row)].length;
  };
  std::size_t size = 0;
  for (const Unmapped& record : records) size += aligned(length_of(record) + trailer_);
  memory = pool_->lend(size);
  std::byte* next = memory.get();
  worker.wanted.clear();
  for (const Unmapped& record : records) {
    const std::size_t length = length_of(record) + trailer_;
    worker.wanted.push_back(
        {.file = record.file, .offset = record.offset, .mapping = record.mapping, .out = {next, length}});
    layout.payloads[static_cast<std::size_t>(record.row)] = next;
    next += aligned(length);
  }
  if (auto done = files_->read(worker.wanted); !done.ok()) {
    const std::int64_t row = records[static_cast<std::size_t>(done.error().place().row)].row;
    return RowError{errors_.of_record(*ticket.job, done.error(), row), row};
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& [file, offset, mapping, out, got] = worker.wanted[i];
    if (got < length_of(records[i]))
      return RowError{ErrorPlaces::cut_short(*ticket.job, program_->source.files[file]), records[i].row};
    std::memset(out.data() + got, 0, out.size() - got);  // `verify` finds a record without its trailer corrupt
  }
  return std::nullopt;
}

/// Copies those records that lie in a mapping; others are private.
void RecordRows::copy_some(const Job& job, std::int64_t first_row, std::span<Record> records, Worker& worker) const {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const UsedBlock& block = job.layout.block_of(first_row + static_cast<std::int64_t>(i));
    if (block.mapping != nullptr && block.mapping->holds(records[i])) worker.copies.add(records.subspan(i, 1), *pool_);
  }
}

/// Copies and verifies the worker's records, whose first is row `first` of the ticket. After an error the worker has
/// the records before the bad one.
std::optional<RowError> RecordRows::verify(const Ticket& ticket, Worker& worker, std::int64_t first,
                                           Fetching& fetching) const {
  const Job& job = *ticket.job;
  const std::span<Record> group{worker.records};
  for (std::size_t done = 0; done < group.size(); done += verified_together) {
    const std::int64_t next = first + static_cast<std::int64_t>(done);
    const auto some = group.subspan(done, std::min(verified_together, group.size() - done));
    fetching.to(next + fetched_ahead + verified_together);
    if (job.copied == RecordCopy::all) [[likely]] {
      worker.copies.add(some, *pool_);
    } else if (job.copied == RecordCopy::mapped) {
      copy_some(job, ticket.first_row + next, some, worker);
    }
    const auto good = program_->source.format->verify(some);
    if (good.ok()) continue;
    const std::int64_t bad = ticket.first_row + next + good.error().place().row;
    worker.records.resize(static_cast<std::size_t>(bad - ticket.first_row - first));
    return RowError{errors_.wrong_checksum(job, good.error(), bad), bad};
  }
  return std::nullopt;
}

std::optional<RowError> RecordRows::decode(Ticket& ticket, Worker& worker) const {
  auto failed = decode_groups(ticket, worker);
  worker.copies.end();
  return failed;
}

std::optional<RowError> RecordRows::decode_groups(Ticket& ticket, Worker& worker) const {
  Fetching fetching{ticket, trailer_};
  fetching.to(fetched_ahead);
  for (std::int64_t first = 0; first < ticket.rows;) {
    worker.records.clear();
    std::size_t bytes = 0;
    std::int64_t row = first;
    for (; row < ticket.rows && bytes < group_bytes && worker.records.size() < group_records; ++row) {
      worker.records.push_back(fetching.record(row));
      bytes += worker.records.back().size();
    }
    if (ticket.job->copied != RecordCopy::none) worker.copies.begin(*pool_, bytes, worker.records.size());
    auto failed = decode_group(ticket, worker, first, fetching);
    if (failed && skips_row(program_->on_corrupt, failed->error)) [[unlikely]]
      failed = one_by_one(ticket, worker, first, row);
    if (failed) return failed;
    first = row;
  }
  return std::nullopt;
}

/// Copies, verifies and decodes the worker's records, whose first is row `first` of the ticket.
std::optional<RowError> RecordRows::decode_group(Ticket& ticket, Worker& worker, std::int64_t first,
                                                 Fetching& fetching) const {
  const auto corrupt = verify(ticket, worker, first, fetching);  // a record before it may be malformed
  pool_->look();
  Result<void> done;
  if (auto threw = catch_all(
          [&] { done = program_->decoder->decode(worker.records, first, ticket.columns->block, *worker.memory); }))
    return thrown(ticket, worker, *threw, first);
  if (!done.ok()) {
    const std::int64_t bad = ticket.first_row + first + std::max<std::int64_t>(0, done.error().place().row);
    return RowError{errors_.of_record(*ticket.job, done.error(), bad), bad};
  }
  return corrupt;
}

/// Decodes the rows `first` … `end` - 1 of a group that failed one by one. A bad one becomes a fault of the ticket.
std::optional<RowError> RecordRows::one_by_one(Ticket& ticket, Worker& worker, std::int64_t first,
                                               std::int64_t end) const {
  ColumnBlock& block = ticket.columns->block;
  Fetching fetching{ticket, trailer_};
  const auto cut_off = [&](std::int64_t rows) {
    for (const ColumnId id : program_->decoded) {
      if (!written_in_place(block[id])) columns::truncate(block[id], rows);
    }
  };
  cut_off(first);
  for (std::int64_t row = first; row < end; ++row) {
    worker.records.assign(1, fetching.record(row));
    if (ticket.job->copied != RecordCopy::none) worker.copies.begin(*pool_, worker.records.front().size(), 1);
    auto failed = decode_group(ticket, worker, row, fetching);
    if (!failed) continue;
    if (!skips_row(program_->on_corrupt, failed->error)) return failed;
    cut_off(row);
    for (const ColumnId id : program_->decoded) {
      Column& column = block[id];
      if (!written_in_place(column)) {
        columns::append_blank(column, 1);
      } else if (const std::size_t bytes = column.row_bytes(); bytes > 0) {
        std::memset(column.values.data() + static_cast<std::size_t>(row) * bytes, 0, bytes);
      }
    }
    ticket.add_fault(row, std::move(failed->error));
  }
  return std::nullopt;
}

/// The error of a decoder that threw. `worker.records` begin at `row` of the ticket. They are decoded again one by one,
/// so that the named record does not depend on how the batch was cut.
RowError RecordRows::thrown(const Ticket& ticket, Worker& worker, const Error& error, std::int64_t row) const {
  const std::int64_t first = ticket.first_row + row;
  if (error.code() != Code::internal) return {error, first};  // no memory, or stopped: not the fault of a record
  std::vector<Malformed> bad;
  TrialDecode{*program_, pool_.get()}.run(worker.records, bad);
  if (bad.empty()) return {errors_.of_record(*ticket.job, error.at("the decoder"), first), first};
  const std::int64_t culprit = first + static_cast<std::int64_t>(bad.front().record);
  return {errors_.of_record(*ticket.job, bad.front().error, culprit), culprit};
}

/// What the decoder's memory grew to for a long list is kept when the budget has as much room again.
void RecordRows::account(Worker& worker) const {
  const std::int64_t bytes = worker.memory->bytes();
  worker.charge.set(*pool_, bytes);
  if (bytes < large_memory || !pool_->over(bytes)) return;
  worker.memory = program_->decoder->memory();
  worker.charge.set(*pool_, 0);
}

}  // namespace forebay::engine
