// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/order.h>
#include <forebay/record.h>
#include <forebay/rows.h>

#include "engine/memory/buffer_pool.h"
#include "engine/program/position.h"
#include "engine/read/mapped_file.h"

namespace forebay::engine {

/// A copy of the facts about one block that a batch uses. The copy stays valid when the table reuses the block's slot.
struct UsedBlock {
  std::uint32_t slot = 0;               ///< The slot in the BlockTable; Handle::block of the block's records.
  std::uint32_t file = 0;               ///< Number of the file in the source's list.
  std::int64_t first_record = 0;        ///< Ordinal in the file of its first record.
  std::int64_t file_offset = 0;         ///< Byte in the uncompressed file where the block begins.
  const MappedFile* mapping = nullptr;  ///< The mapping that has the block's bytes; null when a buffer has them.
  const RowBlock* rows = nullptr;       ///< Row block: its columns.
};

/// A record of a batch whose mapped pages were given back to the system. The ticket reads it from the file instead.
struct Unmapped {
  std::int64_t row = 0;
  std::uint32_t file = 0;         ///< Number of the file in the source's list.
  std::int64_t offset = 0;        ///< Byte in the file where the record's payload begins.
  MappedFile* mapping = nullptr;  ///< The mapping to copy from; the block holds it until the batch is finished.
};

/// One batch as decided by the order plane: which record goes into which row. Plain data.
///
/// The job of the batch owns it, later the delivered batch. The holder of the baton fills it; afterwards the threads
/// that run the tickets of the batch only read it. The pointers in it are valid until the batch is finished.
struct BatchLayout {
  std::vector<Handle> handles;              ///< One per row that has a record.
  std::vector<const std::byte*> payloads;   ///< Address of the record of each handle. Of a row source: empty.
  std::vector<const RowBlock*> row_blocks;  ///< Of a row source: the block of each handle, else empty.
  std::vector<UsedBlock> blocks;            ///< The blocks that the handles name, each once.
  std::vector<Unmapped> unmapped;           ///< Records that are to be read from their files, by row.
  std::int64_t rows = 0;                    ///< Rows of the batch; those from handles.size() on are empty.
  std::int64_t epoch = 0;                   ///< The pass of the first row.
  std::int64_t number = 0;                  ///< Number of the batch in the run, from 0.
  std::optional<bool> ends_epoch;  ///< Whether it is the last of its epoch; known with hard epochs, but for feeds.
  double complete_frac = 0;        ///< Done part of the run, or of the pass when the run is endless: 0 … 1.
  Position after;                  ///< Where a run that continues after this batch starts.
  Charge charge;                   ///< Charges the rows to the memory budget.
  /// Of a combination: the rows of each branch. Each has handles, places and blocks of its own, which those of the
  /// whole layout do not: its handles are for OpenBranches only.
  std::vector<BatchLayout> branches;
  std::vector<std::int64_t> row_of;  ///< In the layout of a branch: the row of the batch of each handle, ascending.

  /// The record of a row below handles.size().
  [[nodiscard]] Record record(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return {payloads[at], handles[at].length};
  }
  /// Charges the capacity of `handles` to the budget, `bytes_a_row` bytes per row.
  void account(BufferPool& pool) {
    charge.set(pool, static_cast<std::int64_t>(handles.capacity()) * bytes_a_row);
    for (BatchLayout& branch : branches) branch.account(pool);
  }
  /// Removes the rows; the capacity of the vectors stays.
  void clear() {
    handles.clear();
    payloads.clear();
    row_blocks.clear();
    blocks.clear();
    unmapped.clear();
    rows = 0;
    row_of.clear();
    for (BatchLayout& branch : branches) branch.clear();
  }
  /// Of a combination: the place of a row in the rows of branch `branch`; empty when the row is of another branch.
  [[nodiscard]] std::optional<std::int64_t> place_in(std::size_t branch, std::int64_t row) const;
  /// The block of a row that has a record. Searches `blocks` from the front.
  [[nodiscard]] const UsedBlock& block_of(std::int64_t row) const;
  /// Byte in the uncompressed file where the record's payload begins.
  [[nodiscard]] std::int64_t payload_offset(std::int64_t row) const {
    return block_of(row).file_offset + handles[static_cast<std::size_t>(row)].offset;
  }
  /// Ordinal of the record in its file, from 0.
  [[nodiscard]] std::int64_t record_of(std::int64_t row) const {
    return block_of(row).first_record + handles[static_cast<std::size_t>(row)].ordinal;
  }
};

}  // namespace forebay::engine
