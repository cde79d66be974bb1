// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <forebay/error.h>

#include "engine/memory/ticket_columns.h"
#include "engine/order/order_plane.h"
#include "engine/tickets/batch_content.h"

namespace forebay::engine {

struct Job;

/// Rows a … b of one batch: the unit of parallel work.
struct Ticket {
  Job* job = nullptr;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::unique_ptr<TicketColumns> columns;  ///< Lent from its run until the batch is made.
};

/// Where the records of a batch lie when its tickets begin. Bytes in a mapping can still be changed by another process;
/// private bytes cannot.
enum class RecordPlace : std::uint8_t { mapped, private_memory, mixed };

/// A batch in the making.
///
///     decided (layout) ─► cut (tickets) ─► tickets run: records are copied, verified, decoded ─► finished (content)
///
/// The order plane decides and cuts it, any workers run its tickets, one of them finishes it, the consumer takes it.
struct Job {
  BatchLayout layout;
  std::vector<std::unique_ptr<Ticket>> tickets;  ///< The first `cut` are in use.
  std::size_t cut = 0;
  bool large = false;  ///< Too large for the consumer's thread, which must come back soon.
  RecordPlace records = RecordPlace::mixed;
  std::int64_t expected_bytes = 0;        ///< Estimate, from its records, of the bytes that making it takes.
  std::int64_t made_bytes = 0;            ///< Bytes that making it took. Set when it is finished.
  std::int64_t tensor_bytes = 0;          ///< Bytes of its tensors. Set when it is finished.
  std::int64_t record_bytes = 0;          ///< Bytes of private records that are held until it is made.
  std::int64_t fixed_bytes = 0;           ///< Bytes of `fixed`.
  std::shared_ptr<std::byte> fixed;       ///< Rows of the fixed numeric outputs. Tickets write here.
  std::vector<std::byte*> fixed_outputs;  ///< By batched output: its first row, or null.
  std::atomic<std::int64_t> decoded{0};   ///< Bytes in columns. Each ticket adds its own.

  /// Bytes that the batch takes so far.
  [[nodiscard]] std::int64_t bytes() const { return record_bytes + fixed_bytes + decoded; }

  std::shared_ptr<Batch::Content> content;  ///< Set when it is finished.
  // Guarded by the scheduler's mutex.
  std::int64_t number = 0;
  std::size_t remaining = 0;   ///< Tickets that are not done.
  std::optional<Error> error;  ///< The error of the lowest row.
  std::int64_t error_row = 0;
  bool done = false;
};

}  // namespace forebay::engine
