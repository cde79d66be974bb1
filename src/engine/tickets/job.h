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
  std::unique_ptr<TicketColumns> columns;  ///< From its run until the batch is made.
};

/// A batch in the making.
struct Job {
  BatchLayout layout;
  std::vector<std::unique_ptr<Ticket>> tickets;  ///< The first `cut` are in use.
  std::size_t cut = 0;
  bool large = false;                     ///< Takes too long for who must come back soon.
  std::int64_t expected_bytes = 0;        ///< That making it will take, by its records.
  std::int64_t made_bytes = 0;            ///< That making it took, when it is finished …
  std::int64_t tensor_bytes = 0;          ///< … and its tensors take.
  std::int64_t record_bytes = 0;          ///< Of records that are held in memory until it is made.
  std::int64_t fixed_bytes = 0;           ///< Of `fixed`, all rows.
  std::shared_ptr<std::byte> fixed;       ///< Rows of the fixed numeric outputs; tickets write here.
  std::vector<std::byte*> fixed_outputs;  ///< By batched output: where its rows begin, or null.
  std::atomic<std::int64_t> decoded{0};   ///< Bytes in columns; tickets add theirs.

  /// Bytes that it takes so far, all in all.
  [[nodiscard]] std::int64_t bytes() const { return record_bytes + fixed_bytes + decoded; }

  std::shared_ptr<Batch::Content> content;  ///< When finished.
  // Guarded by the scheduler's mutex.
  std::int64_t number = 0;
  std::size_t remaining = 0;   ///< Tickets not done.
  std::optional<Error> error;  ///< The one of the lowest row.
  std::int64_t error_row = 0;
  bool done = false;
};

}  // namespace forebay::engine
