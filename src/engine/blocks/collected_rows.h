// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <forebay/order.h>

#include "engine/blocks/block_table.h"

namespace forebay::engine {

/// The rows of the parts of one pass, all in memory, for orders that reach rows by number although the source gives
/// them one after the other (RowSource::collects):
///
///     part 0   row 0 … 63: slot 4 │ row 64 … 127: slot 5 │ …      row 100 ─► search ─► slot 5, ordinal 36
///
/// Each row is held once until the pass is over, and once more for each handle that `name` gives. A member of
/// RowStreams, used by the order plane only.
class CollectedRows {
 public:
  explicit CollectedRows(BlockTable& table) : table_{table} {}

  [[nodiscard]] bool has(std::uint32_t part) const { return part < parts_.size() && parts_[part].ended; }
  /// Takes over handles of the next rows of a part. Those of one call lie in one block.
  void add(std::uint32_t part, std::span<const Handle> rows);
  void end(std::uint32_t part) { of(part).ended = true; }
  [[nodiscard]] std::int64_t rows(std::uint32_t part) const { return parts_[part].rows; }
  /// Writes handles of these rows, whose parts have all rows here. With `counted`, the caller owns the handles.
  void name(std::span<const RecordName> names, std::span<Handle> out, bool counted) const;
  /// Gives up all rows; handles of `name` stay valid.
  void clear(std::int64_t batch);

 private:
  /// Rows that follow each other in one block.
  struct Stretch {
    std::int64_t first = 0;  // row of the part
    Handle handle;           // of that row
  };
  struct Part {
    std::vector<Stretch> stretches;
    std::int64_t rows = 0;
    bool ended = false;
  };
  Part& of(std::uint32_t part);
  [[nodiscard]] static Handle at(const Part& part, std::int64_t row);

  BlockTable& table_;
  std::vector<Part> parts_;
};

}  // namespace forebay::engine
