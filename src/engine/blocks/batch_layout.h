// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/batch_rows.h>
#include <forebay/complete_frac.h>
#include <forebay/record.h>
#include <forebay/row_identity.h>
#include <forebay/rows.h>

#include "columns/take/take.h"
#include "engine/memory/buffer_pool.h"
#include "engine/program/position.h"
#include "engine/read/mapped_file.h"

namespace forebay::engine {

class PartInFiles;  // engine/blocks/part_in_files.h

/// A copy of the facts about one block that a batch uses. The copy stays valid when the table reuses the block's slot.
struct UsedBlock {
  std::uint32_t slot = 0;               ///< The slot in the BlockTable; Handle::block of the block's records.
  std::uint32_t file = 0;               ///< Number of the file in the source's list.
  std::int64_t first_record = 0;        ///< Ordinal in the file of its first record.
  std::int64_t file_offset = 0;         ///< Byte in the uncompressed file where the block begins.
  const MappedFile* mapping = nullptr;  ///< The mapping that has the block's bytes; null when a buffer has them.
  const PartInFiles* files = nullptr;   ///< Row block of a part in files: its mappings.
  const RowBlock* rows = nullptr;       ///< Row block: its columns.
  const RowBlock* decoded = nullptr;    ///< The block's records in columns, beside their bytes; or null.
};

/// A record of a batch whose mapped pages were given back to the system. The ticket reads it from the file instead.
struct Unmapped {
  std::int64_t row = 0;
  std::uint32_t file = 0;         ///< Number of the file in the source's list.
  std::int64_t offset = 0;        ///< Byte in the file where the record's payload begins.
  MappedFile* mapping = nullptr;  ///< The mapping to copy from; the block holds it until the batch is finished.
};

/// The pass of a row, and how often the same record came earlier in that pass.
struct Occurrence {
  std::int64_t epoch = 0;
  std::int64_t number = 0;
};

/// The rows of a batch in a plan that takes spans (Program::taking). The handles of the layout are then elements, each
/// once, in the order of their first use; a row is made of the spans that name it.
///
///     handles          e0      e1      e2             elements: records, or rows of row blocks
///     spans[axis]      e0[0,3) e0[2,5) e1[0,9) e2[0,4)
///     row              0       1       2       2      row 3 of 4 has no span: it is empty
struct RowSpans {
  static constexpr std::int64_t no_element = -1;
  static constexpr std::int64_t to_the_end = -1;  ///< As `length`: all frames from `start` on.

  /// By axis, in the order of `row` and `at`. `element` counts in `handles`; `source` is 0.
  std::vector<std::vector<columns::PlacedSpan>> spans;
  /// By row: the element that fills the columns which are not cut; `no_element` for an empty row.
  std::vector<std::int64_t> whole;
  /// By row, in plans with windows: the number of the window in its part or sequence, of several the first. Else empty.
  std::vector<std::int64_t> windows;
  /// By span of the first axis, where a row has several windows: the number of its window. Else empty.
  std::vector<std::int64_t> windows_of_spans;
  /// By row, where windows know it (Windowing::counts): the number of windows of the row's sequence; 0: an empty row.
  std::vector<std::int64_t> counts;

  /// Whether the next window of the row's sequence is in the same row of the next batch, in plans with lanes.
  [[nodiscard]] bool goes_on(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return at < counts.size() && windows[at] + 1 < counts[at];
  }
  /// Whether the row has a window of its sequence that is not the first one.
  [[nodiscard]] bool follows(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return at < counts.size() && counts[at] > 0 && windows[at] > 0;
  }
  void clear() {
    for (auto& axis : spans) axis.clear();
    whole.clear();
    windows.clear();
    windows_of_spans.clear();
    counts.clear();
  }
  /// Bytes of memory, unused capacity included.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t out = (whole.capacity() + windows.capacity() + windows_of_spans.capacity() + counts.capacity()) *
                      sizeof(std::int64_t);
    for (const auto& axis : spans) out += axis.capacity() * sizeof(columns::PlacedSpan);
    return out;
  }
  /// The spans of one row along `axis`.
  [[nodiscard]] std::span<const columns::PlacedSpan> of_row(std::size_t axis, std::int64_t row) const;
};

/// How much of the run and of the epoch is done after a batch.
struct DoneParts {
  double of_run = 0;  ///< Or of the pass when the run is endless: 0 … 1.
  Fraction of_epoch;
};

/// One batch as decided by the order plane: which record goes into which row. Plain data.
///
/// The job of the batch owns it, later the delivered batch. The holder of the baton fills it; afterwards the threads
/// that run the tickets of the batch only read it. The pointers in it are valid until the batch is finished.
struct BatchLayout {
  std::vector<Handle> handles;             ///< One per row that has a record; with `taken`, the elements.
  std::vector<const std::byte*> payloads;  ///< Address of the record of each handle. Of a row source: empty.
  std::vector<Occurrence> occurrences;     ///< Of each handle, when a step of the plan draws; else empty.
  /// Of a combination with a step that draws, instead of `occurrences`: of each handle. Side by side, a row has one of
  /// each branch until the rows are dealt to the branches; then that of the first branch.
  std::vector<RowIdentity> identities;
  std::vector<const RowBlock*> row_blocks;  ///< Of a row source: the block of each handle, else empty.
  std::vector<UsedBlock> blocks;            ///< The blocks that the handles name, each once.
  std::vector<Unmapped> unmapped;           ///< Records that are to be read from their files, by row.
  RowSpans taken;                           ///< Only in plans that take spans.
  std::vector<std::int64_t> numbers;        ///< BatchRows::numbers.
  std::vector<BatchRows::Longest> longest;  ///< Frames that padded columns have at least, on every shard.
  std::int64_t rows = 0;           ///< Rows of the batch; without `taken`, those from handles.size() on are empty.
  std::int64_t epoch = 0;          ///< The pass of the first row.
  std::int64_t number = 0;         ///< Number of the batch in the run, from 0.
  std::optional<bool> ends_epoch;  ///< Whether it is the last of its epoch; known with hard epochs, but for feeds.
  DoneParts done;
  /// The last row is the one of Batching::epoch_end: the number of sequences of the epoch. Else -1.
  std::int64_t epoch_count = -1;
  Position after;  ///< Where a run that continues after this batch starts.
  Charge charge;   ///< Charges the rows to the memory budget.
  /// Of a combination: the rows of each branch. Each has handles, places and blocks of its own, which those of the
  /// whole layout do not: its handles are for OpenBranches only.
  std::vector<BatchLayout> branches;
  std::vector<std::int64_t> row_of;  ///< In the layout of a branch: the row of the batch of each handle, ascending.

  /// Rows that tickets fill; those from there on are empty. Of spans, tickets fill all rows.
  [[nodiscard]] std::int64_t filled_rows() const {
    return taken.whole.empty() ? static_cast<std::int64_t>(handles.size()) : rows;
  }
  /// The element of a row, or the first one of several; RowSpans::no_element when the row is empty.
  [[nodiscard]] std::int64_t element_of(std::int64_t row) const;
  /// The record of a row below handles.size().
  [[nodiscard]] Record record(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return {payloads[at], handles[at].length};
  }
  /// Charges the capacity of `handles`, `bytes_a_row` bytes per row, and of the rest to the budget.
  void account(BufferPool& pool) {
    charge.set(pool, static_cast<std::int64_t>(handles.capacity()) * bytes_a_row +
                         static_cast<std::int64_t>(identities.capacity() * sizeof(RowIdentity) +
                                                   numbers.capacity() * sizeof(std::int64_t) + taken.bytes()));
    for (BatchLayout& branch : branches) branch.account(pool);
  }
  /// Removes the rows; the capacity of the vectors stays.
  void clear() {
    handles.clear();
    occurrences.clear();
    identities.clear();
    payloads.clear();
    row_blocks.clear();
    blocks.clear();
    unmapped.clear();
    taken.clear();
    numbers.clear();
    longest.clear();
    epoch_count = -1;
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
