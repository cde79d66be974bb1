// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <forebay/order.h>
#include <forebay/record.h>

#include "engine/memory/buffer_pool.h"
#include "engine/program/position.h"
#include "engine/read/mapped_file.h"

namespace forebay::engine {

/// A block that records of a batch come from.
struct UsedBlock {
  std::uint32_t slot = 0;
  std::uint32_t file = 0;
  std::int64_t first_record = 0;        ///< Ordinal in the file of its first record.
  std::int64_t file_offset = 0;         ///< Of the block, in the uncompressed file.
  const MappedFile* mapping = nullptr;  ///< What the block points into; null when it holds its bytes.
};

/// A record of a batch in a mapped file whose pages there were given back: to be read from the file.
struct Unmapped {
  std::int64_t row = 0;
  std::uint32_t file = 0;
  std::int64_t offset = 0;  ///< In the file.
  MappedFile* mapping = nullptr;
};

/// A batch as the order plane decides it: which record goes into which row.
struct BatchLayout {
  std::vector<Handle> handles;             ///< One a row.
  std::vector<const std::byte*> payloads;  ///< By row: where the record lies, until the batch is finished.
  std::vector<UsedBlock> blocks;           ///< What the handles name, each once.
  std::vector<Unmapped> unmapped;          ///< Records that are to be read from their files, by row.
  std::int64_t rows = 0;                   ///< At least handles.size(); more are filled with nothing.
  std::int64_t epoch = 0;
  std::int64_t number = 0;
  double complete_frac = 0;  ///< Of the run, or of the epoch when the run is endless.
  Position after;            ///< Where a run that goes on behind this batch stands.
  Charge charge;             ///< Of the rows, to the budget.

  [[nodiscard]] Record record(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return {payloads[at], handles[at].length};
  }
  /// Charges the room that there is for rows.
  void account(BufferPool& pool) { charge.set(pool, static_cast<std::int64_t>(handles.capacity()) * bytes_a_row); }
  /// Forgets the rows, but keeps their room.
  void clear() {
    handles.clear();
    payloads.clear();
    blocks.clear();
    unmapped.clear();
    rows = 0;
  }
  /// The used that a row with a record belongs to.
  [[nodiscard]] const UsedBlock& block_of(std::int64_t row) const;
  /// Byte of the record's payload in the (uncompressed) file.
  [[nodiscard]] std::int64_t payload_offset(std::int64_t row) const {
    return block_of(row).file_offset + handles[static_cast<std::size_t>(row)].offset;
  }
  [[nodiscard]] std::int64_t record_of(std::int64_t row) const {
    return block_of(row).first_record + handles[static_cast<std::size_t>(row)].ordinal;
  }
};

}  // namespace forebay::engine
