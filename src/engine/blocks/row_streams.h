// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forebay/order.h>
#include <forebay/rows.h>

#include "engine/blocks/block_table.h"
#include "engine/blocks/collected_rows.h"
#include "engine/blocks/numbered_table.h"
#include "engine/blocks/run_share.h"

namespace forebay::engine {

/// The open parts of a row source of which not all rows are in memory: goes through their row blocks one after the
/// other. The readers are the program's, so their blocks are checked.
///
///     PartReader ─ read ─► row block ─► entry of the table ─► handles of its rows
///
/// A member of OpenFiles, used by the order plane only.
class RowStreams {
 public:
  /// `source` and `table` must outlive this object. Readers call `wake` from any thread. `seeks`: rows that are passed
  /// over lie in the part that is read. Not so when an order goes through the parts again: only reading shows where
  /// they end.
  RowStreams(const RowSource& source, bool seeks, std::shared_ptr<RunShare> share, BlockTable& table,
             std::function<void()> wake);

  /// Parts that are opened from now on belong to this pass.
  void begin_pass(std::int64_t epoch, std::int64_t batch) {
    epoch_ = epoch;
    mixed_ = std::max(mixed_, MixedPlace{.pass = epoch});
    collected_.clear(batch);
  }
  /// `catching_up`: a restart repeats the order, so the part may be passed over as a whole, and is not opened yet.
  [[nodiscard]] Reader::Stream open(std::uint32_t part, bool catching_up);
  /// Passes over up to `n` rows of a part that was not read yet, without reading them: all, when their number is known,
  /// or some, when it may seek. Returns how many; 0: the rows must be read.
  [[nodiscard]] std::int64_t skip_unread(Reader::Stream stream, std::int64_t n);
  /// The next handles of a stream. `nothing_yet`: the reader has no rows now, and wakes the run when it has. Fails with
  /// the reader's error, at the part.
  struct Rows {
    PartReader::Got got;
    std::size_t count;  ///< Of `rows`: handles written.
  };
  [[nodiscard]] Result<Rows> read(Reader::Stream stream, std::span<Handle> out, std::int64_t batch);
  /// Whether `read` would give rows, the end or an error. May take the next rows from the reader.
  [[nodiscard]] bool ready(Reader::Stream stream, std::int64_t batch);
  /// Closes the reader, and counts off the rows that were not read.
  void close(Reader::Stream stream, std::int64_t batch);
  /// Closes all readers at once, when the run is over. No stream may be read any more.
  void close_all() {
    open_.clear();
    share_->kept.reset();
  }
  /// Reads all rows of a part into memory, for an order that reaches them by number. False: the reader has nothing now;
  /// the next call goes on.
  [[nodiscard]] Result<bool> collect(std::uint32_t part, std::int64_t batch, const std::function<Result<void>()>& room);
  [[nodiscard]] CollectedRows& collected() { return collected_; }
  [[nodiscard]] RunShare& share() const { return *share_; }
  /// Position::mixed behind the rows that were read, of rows that are made of a combination.
  [[nodiscard]] const MixedPlace& mixed() const { return mixed_; }

 private:
  struct Open {
    std::uint32_t part = 0;
    std::unique_ptr<PartReader> reader;  // null before the first read
    std::optional<std::uint32_t> slot;   // of the block that is being read
    std::size_t next = 0;                // row in that block
    std::size_t count = 0;               // rows that it came with
    std::optional<Error> error = {};     // of the reader: `ready` met it, and `read` returns it
    std::int64_t rows = 0;               // in the blocks before it
    std::uint32_t row_bytes = 0;         // of that block, on average
    std::size_t given = 0;               // a part in memory: its blocks that were read
    bool begun = false;                  // the reader was asked for rows
    bool ended = false;
  };
  [[nodiscard]] Result<void> open_reader(Open& at);
  [[nodiscard]] Result<PartReader::Got> next_rows(Open& at, std::shared_ptr<const RowBlock>& out);
  [[nodiscard]] Result<PartReader::Got> next_block(Open& at);
  void leave_block(Open& at, std::int64_t batch);
  void advance(const Open& at);

  const RowSource& source_;
  const bool seeks_;
  const std::shared_ptr<RunShare> share_;
  BlockTable& table_;
  const std::function<void()> wake_;
  std::int64_t epoch_ = 0;
  MixedPlace mixed_ = {};
  CollectedRows collected_;
  std::optional<Reader::Stream> collecting_;  // the part that `collect` reads
  NumberedTable<Open, Reader::Stream> open_;
};

}  // namespace forebay::engine
