// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <forebay/loader.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/ticket_columns.h"
#include "engine/program/program.h"
#include "engine/read/file_cache.h"
#include "engine/tickets/finish/batch_recycler.h"
#include "engine/tickets/job.h"
#include "engine/tickets/record_copies.h"
#include "engine/tickets/row_gather.h"
#include "engine/tickets/step_chain.h"
#include "engine/tickets/step_clock.h"
#include "engine/tickets/take/take_rows.h"
#include "engine/tickets/ticket_cost.h"

namespace forebay::engine {

/// Memory that one worker keeps between tickets. Used by its thread only.
struct Worker {
  std::size_t number = 0;
  std::unique_ptr<DecoderMemory> memory;  ///< Null when the rows come ready.
  Charge charge;                          ///< For `memory`.
  std::vector<Record> records;            ///< The group of records that is decoded by one call.
  RecordCopies copies;                    ///< Private bytes of `records`, where they lie in a mapping.
  std::vector<FileCache::Wanted> wanted;  ///< Records that are read from files whose pages were given back.
  std::unique_ptr<TakeMemory> take;       ///< Only in plans that take spans.
  StepScratch steps;
  std::vector<Worker> branches = {};  ///< Of a combination: the memory for each branch.
};

class BranchTickets;

/// A failure and the row of the batch it belongs to.
struct RowError {
  Error error;
  std::int64_t row;
};

/// Turns layouts into batches. Const while running: any number of workers call it at once, each with its own Worker.
/// When the pool is closed, `run` and `finish` throw Closed.
///
/// The path of a record into a row. Another process may write to a mapped file at any time, so a record is first copied
/// and only its copy is checked and decoded (ADR 0009):
///
///     mapped file ──copy──► worker's buffer ─┐
///     decompressed block ────────────────────┼─ verify checksum ─► decode ─► row i of the ticket's columns ─► steps
///     record read by FileCache ──────────────┘
///                    private memory; groups of a few records, so all of it happens in the first-level cache
///
/// Where nothing is verified and the decoder copies the bytes into the row, it reads the mapping (ADR 0060).
///
/// Where rows are spans of elements (Program::taking), the elements of a ticket go this way into columns of the worker,
/// and TakeRows copies the spans from there into the rows.
///
/// A record whose checksum is wrong is an error of its row. When the file's identity is no longer that of the mapping,
/// the error says that the file changed.
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

 private:
  friend class BranchTickets;
  class Fetching;
  void find_records(Job& job, std::int64_t bytes) const;
  [[nodiscard]] std::optional<RowError> read_unmapped(Ticket& ticket, Worker& worker,
                                                      std::shared_ptr<std::byte>& memory) const;
  [[nodiscard]] std::optional<RowError> fill(Ticket& ticket, Worker& worker) const;
  std::optional<RowError> decode(Ticket& ticket, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> take(Ticket& ticket, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> make_elements(Worker& worker) const;
  [[nodiscard]] std::optional<RowError> apply_element_steps(TakeMemory& memory) const;
  [[nodiscard]] std::optional<RowError> too_large_element(const Ticket& elements) const;
  void account_elements(TakeMemory& memory) const;
  [[nodiscard]] std::optional<RowError> verify(const Ticket& ticket, Worker& worker, std::int64_t first,
                                               Fetching& fetching) const;
  void copy_some(const Job& job, std::int64_t first_row, std::span<Record> records, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> one_by_one(Ticket& ticket, Worker& worker, std::int64_t first,
                                                   std::int64_t end) const;
  [[nodiscard]] std::optional<RowError> decode_groups(Ticket& ticket, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> decode_group(Ticket& ticket, Worker& worker, std::int64_t first,
                                                     Fetching& fetching) const;
  [[nodiscard]] std::optional<RowError> apply_steps(Ticket& ticket, Worker& worker) const;
  void account(Ticket& ticket) const;
  void account(Worker& worker) const;
  [[nodiscard]] std::optional<Error> too_large(const Job& job) const;
  [[nodiscard]] std::optional<Error> make(Job& job) const;
  void clear_empty_rows(const Job& job) const;
  void count_frames(Batch::Content& content) const;
  void cut_tickets(Job& job, std::int64_t bytes) const;
  [[nodiscard]] Result<std::int64_t> bytes_of(const Job& job, std::int64_t bytes) const;
  RowError thrown(const Ticket& ticket, Worker& worker, const Error& error, std::int64_t row) const;
  void lend_rows(Job& job) const;
  void bind_columns(Ticket& ticket) const;
  [[nodiscard]] static Error cut_short(const Job& job, const std::string& file);
  [[nodiscard]] std::optional<Error> find_cut_short(const Job& job) const;
  [[nodiscard]] Error place(const Job& job, const Error& error, std::int64_t row) const;
  [[nodiscard]] Error place_row(const Job& job, const Error& error, std::int64_t row) const;
  [[nodiscard]] Error wrong_checksum(const Job& job, const Error& error, std::int64_t row) const;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<BufferPool> pool_;
  const std::int64_t threads_;
  std::vector<std::size_t> padded_;     // outputs whose frames are padded
  const std::size_t trailer_;           // bytes after a record that its format verifies
  const bool copies_only_;              // records are decoded where they lie in a mapping
  std::vector<ColumnId> used_;          // columns that a ticket fills
  std::vector<std::size_t> row_bytes_;  // by batched output; 0 where rows are not written in place
  std::vector<ColumnId> in_place_;      // by column: its batched output, or -1
  const std::shared_ptr<BatchRecycler> contents_;
  std::unique_ptr<ColumnPool> columns_;
  const std::unique_ptr<FileCache> files_;
  const StepClock clock_;
  const StepChain chain_;
  mutable TicketCost cost_;
  const std::optional<RowGather> gather_;                // set: the rows come ready
  const std::unique_ptr<const TakeRows> take_;           // set: rows are spans of elements
  const std::unique_ptr<const BranchTickets> branches_;  // set: the rows are those of several branches
};

}  // namespace forebay::engine
