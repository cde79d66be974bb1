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

/// Makes a column for each id of the schema, without rows. Long work on the columns polls `check`, which must outlive
/// them.
[[nodiscard]] ColumnBlock columns_of(const Schema& schema, const StopCheck* check = nullptr);

/// Bytes of memory that a column owns, unused capacity included.
[[nodiscard]] std::int64_t owned_bytes(const Column& column);

/// The columns of the rows of one ticket, and their share of the memory budget.
struct TicketColumns {
  ColumnBlock block;
  Charge charge;
};

/// Recycles the columns of tickets. The Executor owns it. Thread-safe.
///
/// A ticket owns columns from its run until its batch is made. The number of columns therefore depends on the threads,
/// not on the number of batches that are ready.
class ColumnPool {
 public:
  /// `growing`: ids of the columns that own memory.
  ColumnPool(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, std::vector<ColumnId> growing)
      : program_{std::move(program)}, pool_{std::move(pool)}, growing_{std::move(growing)} {}

  /// Returns recycled columns, or new ones. Throws std::bad_alloc.
  [[nodiscard]] std::unique_ptr<TicketColumns> take();
  /// Charges the memory that filled columns own to the budget. Returns the bytes of their content; their sum over a
  /// batch does not depend on the cut of the batch into tickets.
  std::int64_t account(TicketColumns& columns) const;
  /// Recycles the columns. Frees them instead when the budget has no room for as many bytes again.
  void give(std::unique_ptr<TicketColumns> columns);

 private:
  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<BufferPool> pool_;
  const std::vector<ColumnId> growing_;
  Recycler<TicketColumns> free_;
};

}  // namespace forebay::engine
