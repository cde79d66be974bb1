// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <forebay/column.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/sync.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// A column for each id of the schema, without rows. They ask `check`.
[[nodiscard]] ColumnBlock columns_of(const Schema& schema, const StopCheck* check = nullptr);

/// Bytes of memory that a column owns, whether in use or not.
[[nodiscard]] std::int64_t owned_bytes(const Column& column);

/// All columns of the rows of one ticket, or of a batch, and their part of the budget.
struct TicketColumns {
  ColumnBlock block;
  Charge charge;
};

/// Recycles the columns of tickets. A ticket has columns from its run until its batch is made: so there are as many as
/// threads need at once, not as many as batches are ready, and the ones that are taken next are those that were in use
/// last, which a cache still holds. Any thread may call.
class ColumnPool {
 public:
  /// `growing`: the columns that own memory.
  ColumnPool(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, std::vector<ColumnId> growing)
      : program_{std::move(program)}, pool_{std::move(pool)}, growing_{std::move(growing)} {}

  [[nodiscard]] std::unique_ptr<TicketColumns> take() EXCLUDES(mutex_);
  /// Charges what they own to the budget, after they were filled. What they are filled with, in bytes: the sum over a
  /// batch does not depend on how it was cut.
  std::int64_t account(TicketColumns& columns) const;
  /// Takes them back; they are kept when the budget has as much room again.
  void give(std::unique_ptr<TicketColumns> columns) EXCLUDES(mutex_);
  /// Takes them back; they are not kept.
  void drop(std::unique_ptr<TicketColumns> columns) EXCLUDES(mutex_);

 private:
  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<BufferPool> pool_;
  const std::vector<ColumnId> growing_;
  Mutex mutex_;
  std::vector<std::unique_ptr<TicketColumns>> free_ GUARDED_BY(mutex_);  // has room for the `lent_` as well
  std::size_t lent_ GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::engine
