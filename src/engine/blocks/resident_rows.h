// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <forebay/order.h>
#include <forebay/rows.h>

#include "engine/blocks/block_table.h"
#include "engine/blocks/numbered_table.h"
#include "engine/blocks/part_in_files.h"

namespace forebay::engine {

/// The parts of a row source whose rows are all in memory or in files that are mapped: names any row without reading
/// it.
///
///     part     row blocks, one after the other; those with more than 2^31 rows are cut (a handle has 32 bits)
///     table    permanent row block      permanent row block  …
///
/// A part in files is mapped when its first row is named. A member of OpenFiles, used by the order plane only. The
/// handles are not counted: the blocks stay as long as the run.
class ResidentRows {
 public:
  /// `source` and `table` must outlive this object. `requests`: those of the run.
  ResidentRows(const RowSource& source, std::shared_ptr<BufferPool> pool, std::shared_ptr<Requests> requests,
               BlockTable& table);

  // The functions of Reader that go through a part from its first row to its last.
  [[nodiscard]] Reader::Stream open(std::uint32_t part) { return open_.add({.part = part}); }
  [[nodiscard]] Result<std::size_t> read(Reader::Stream stream, std::span<Handle> out);  ///< 0: the end of the part.
  std::int64_t skip(Reader::Stream stream, std::int64_t n);  ///< Goes past up to `n` rows; returns their number.
  void close(Reader::Stream stream) { open_.take(stream); }
  /// Share of the part's rows that the stream has given, 0 … 1.
  [[nodiscard]] double fraction(Reader::Stream stream) const;

  [[nodiscard]] std::int64_t rows(std::uint32_t part) const { return counts_[part]; }
  /// Writes the handles of the rows of a part from `first` on. The part must have as many. Fails when the files of a
  /// part cannot be read.
  [[nodiscard]] Result<void> name(std::uint32_t part, std::int64_t first, std::span<Handle> out);
  /// Writes the handles of any rows.
  [[nodiscard]] Result<void> name(std::span<const RecordName> names, std::span<Handle> out);

  /// Fails when a mapped file is not the version that was mapped.
  [[nodiscard]] Result<void> unchanged() const;
  /// Gives the mapped pages back to the system when about `limit` bytes of them may have been read since the last time.
  void limit_mapped(std::int64_t limit);

 private:
  static constexpr std::int64_t segment_rows = std::int64_t{1} << 31;
  struct Open {
    std::uint32_t part = 0;
    std::int64_t next = 0;  // row
  };
  struct Part {
    std::vector<std::uint32_t> slots;  // in the table, by segment; empty: the part was not used yet
    std::vector<std::int64_t> firsts;  // row of each segment
    std::uint32_t row_bytes = 0;       // bytes of a row, on average
    std::shared_ptr<PartInFiles> files = {};
  };
  /// The segment that has the row.
  static std::size_t segment_of(const Part& part, std::int64_t row) {
    if (part.slots.size() == 1) return 0;
    return static_cast<std::size_t>(std::ranges::upper_bound(part.firsts, row) - part.firsts.begin()) - 1;
  }
  static Handle handle_of(const Part& part, std::int64_t row) {
    const std::size_t segment = segment_of(part, row);
    const auto ordinal = static_cast<std::uint32_t>(row - part.firsts[segment]);
    return {.block = part.slots[segment], .ordinal = ordinal, .offset = ordinal, .length = part.row_bytes};
  }
  [[nodiscard]] Result<Part*> opened(std::uint32_t number);
  void enter(std::uint32_t number, const RowBlock& all, Part& part);

  const RowSource& source_;
  PartInFiles::Memory memory_;
  std::int64_t mapped_ = 0;  // bytes of all mapped files
  BlockTable& table_;
  std::vector<std::int64_t> counts_;  // rows, by part
  std::vector<Part> parts_;
  NumberedTable<Open, Reader::Stream> open_;
};

}  // namespace forebay::engine
