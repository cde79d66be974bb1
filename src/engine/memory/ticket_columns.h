// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <forebay/column.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/recycler.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// A column for each id of the schema, without rows. Long work on them polls `check`.
[[nodiscard]] ColumnBlock columns_of(const Schema& schema, const StopCheck* check = nullptr);

/// Bytes of memory that a column owns, unused capacity included.
[[nodiscard]] std::int64_t owned_bytes(const Column& column);

/// The columns of the rows of one ticket, and their share of the memory budget.
struct TicketColumns {
  ColumnBlock block;
  Charge charge;
};

/// Recycles the columns of tickets. Thread-safe.
///
/// A ticket owns columns from its run until its batch is made, so there are as many as the threads need at once, and
/// not as many as batches are ready.
class ColumnPool {
 public:
  /// `growing`: the columns that own memory.
  ColumnPool(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, std::vector<ColumnId> growing)
      : program_{std::move(program)}, pool_{std::move(pool)}, growing_{std::move(growing)} {}

  [[nodiscard]] std::unique_ptr<TicketColumns> take();
  /// Charges the memory that filled columns own to the budget. Returns the bytes of their content: the sum over a batch
  /// does not depend on how the batch was cut into tickets.
  std::int64_t account(TicketColumns& columns) const;
  /// Recycles the columns, or frees them when the budget has not as much room again.
  void give(std::unique_ptr<TicketColumns> columns);

 private:
  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<BufferPool> pool_;
  const std::vector<ColumnId> growing_;
  Recycler<TicketColumns> free_;
};

}  // namespace forebay::engine
