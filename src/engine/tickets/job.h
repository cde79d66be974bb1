// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <forebay/error.h>

#include "engine/memory/ticket_columns.h"
#include "engine/order/order_plane.h"
#include "engine/tickets/finish/batch_content.h"

namespace forebay::engine {

struct Job;

/// A row that could not be made out of its record, when `on_corrupt` is skip_row.
struct RowFault {
  std::int64_t row = 0;  ///< Of the ticket.
  Error error;
  std::optional<std::size_t> branch = {};  ///< Of a combination: the branch that could not make its part of the row.
};

/// A range of the rows of one batch: the unit of parallel work. Its Job owns it; one worker or the consumer runs it.
struct Ticket {
  static constexpr std::int64_t all_spans = -1;

  Job* job = nullptr;  ///< The owner.
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t bytes = 0;  ///< Of the records; rows that come ready count as 256.
  // Several tickets may share one long row of spans; each takes some of them, counted in the row.
  std::int64_t first_span = 0;
  std::int64_t spans = all_spans;

  /// Whether it makes the columns that are not cut. Of tickets that share a row, the first one does.
  [[nodiscard]] bool begins_row() const { return spans == all_spans || first_span == 0; }
  std::unique_ptr<TicketColumns> columns;  ///< Null, except from the run of the ticket until the batch is made.
  std::vector<RowFault> faults;            ///< At most one for each row. Their rows are zero or empty.

  std::vector<bool> bad;  ///< By row: it has a fault. Empty: none has.

  [[nodiscard]] bool has_fault(std::int64_t row) const { return !bad.empty() && bad[static_cast<std::size_t>(row)]; }
  /// Of several faults of a row the first one counts.
  void add_fault(std::int64_t row, Error error, std::optional<std::size_t> branch = {}) {
    if (has_fault(row)) return;
    bad.resize(static_cast<std::size_t>(rows));
    faults.push_back({row, std::move(error), branch});
    bad[static_cast<std::size_t>(row)] = true;
  }
  void drop_faults(std::size_t from) {  ///< Those from number `from` on.
    for (; faults.size() > from; faults.pop_back()) bad[static_cast<std::size_t>(faults.back().row)] = false;
  }
};

/// The sizes of a batch whose rows are made of spans (Program::taking). Known when it is cut.
struct TakenSizes {
  std::vector<std::size_t> row_bytes;  ///< By batched output: bytes of a row in Job::fixed; 0: the Finisher makes it.
  std::vector<Shape> shapes;           ///< By batched output: of a row in Job::fixed.
  std::vector<std::size_t> axes;       ///< By batched output: axis of its spans; 0 for those that are not cut.
  /// By axis: the frames of each row. Only where all lengths are `known`.
  std::vector<std::vector<std::int64_t>> frames;
  std::vector<bool> known;  ///< By axis.
};

/// What is copied to private memory before a batch's records are checked and decoded. Another process can change bytes
/// of a mapping at any time; it cannot change private memory.
enum class RecordCopy : std::uint8_t {
  all,     ///< All records lie in mappings.
  none,    ///< All are in private memory, or need no check and are decoded by one copy (Decoder::copies_only).
  mapped,  ///< Some lie in mappings.
};

/// A batch in the making.
///
///     decided (layout) ─► cut (tickets) ─► tickets run: records are copied, verified, decoded ─► finished (content)
///
/// The thread with the baton decides and cuts it. Workers and the consumer run its tickets. The thread that runs the
/// last ticket finishes it, and the consumer takes the content. A job and its tickets are recycled for later batches.
struct Job {
  BatchLayout layout;
  std::vector<std::unique_ptr<Ticket>> tickets;  ///< The first `cut` belong to this batch.
  std::size_t cut = 0;
  bool large = false;  ///< More than `large_bytes`: the consumer leaves the tickets to workers, if there are any.
  RecordCopy copied = RecordCopy::mapped;
  std::int64_t expected_bytes = 0;         ///< Estimate of `made_bytes`, from the records.
  std::int64_t made_bytes = 0;             ///< Bytes of memory that making the batch took. Set when finished.
  std::int64_t tensor_bytes = 0;           ///< Bytes of the tensors. Set when finished.
  std::int64_t record_bytes = 0;           ///< Bytes of private records that are held until the batch is made.
  std::int64_t fixed_bytes = 0;            ///< Bytes of `fixed`.
  std::shared_ptr<std::byte> fixed;        ///< Rows of the fixed numeric outputs. Tickets write here.
  std::vector<std::byte*> fixed_outputs;   ///< By batched output: the first row in `fixed`, or null.
  std::span<const std::size_t> row_bytes;  ///< By batched output: bytes of a row in `fixed`; 0: it has no rows there.
  TakenSizes taken;                        ///< Only in plans that take spans.
  std::atomic<std::int64_t> decoded{0};    ///< Bytes in the columns of the tickets. Each ticket adds its own.
  /// Of a combination: the rows of each branch as a job with as many tickets. While the batch is made, they have the
  /// layouts of the branches (BatchLayout::branches).
  std::vector<std::unique_ptr<Job>> branches;

  /// Bytes that the batch takes so far.
  [[nodiscard]] std::int64_t bytes() const { return record_bytes + fixed_bytes + decoded; }

  /// Cuts one more ticket, whose first row is `row`.
  Ticket& add_ticket(std::int64_t row) {
    if (cut == tickets.size()) tickets.push_back(std::make_unique<Ticket>());
    Ticket& ticket = *tickets[cut++];
    ticket.job = this;
    ticket.first_row = row;
    ticket.bytes = 0;
    ticket.faults.clear();
    ticket.bad.clear();
    return ticket;
  }

  std::vector<SkippedRow> skipped;  ///< Bad rows that were taken out, in the order of the rows. Set when finished.

  std::shared_ptr<Batch::Content> content;  ///< Null until the batch is finished.
  // Guarded by the scheduler's mutex.
  std::int64_t number = 0;     ///< Among the batches that are made.
  std::int64_t epoch = 0;      ///< The layout's, which goes into `content`.
  bool left_out = false;       ///< Its epoch is not wanted any more: some of its tickets did not run.
  std::size_t remaining = 0;   ///< Tickets that are not done.
  std::optional<Error> error;  ///< The error of the lowest row.
  std::optional<Error> fault;  ///< Of the order: the rows are those before it, and the batch is not delivered.
  std::int64_t error_row = 0;
  std::int64_t error_span = 0;  ///< The first span of its ticket, where tickets share the row.
  bool done = false;
};

}  // namespace forebay::engine
