// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <forebay/column.h>

#include "engine/blocks/batch_layout.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Copies rows of row blocks into the columns of a ticket: what decoding is for records.
///
///     row block   | column x: row 0, row 1, … |        ticket   | x: rows of the handles, in their order |
///                 | column y: row 0, row 1, … |  ─copy─►        | y: …                                   |
///
/// Goes column by column. Neighbours in the block that stay neighbours in the batch are copied at once. Immutable; the
/// Executor owns it and any thread calls it.
class RowGather {
 public:
  explicit RowGather(const Program& program);

  /// Fills the given columns of `block` with rows `first` … `first + rows` of the layout. Fixed numeric columns have
  /// their rows already; others are empty and are appended to. Throws Closed when the run is stopped meanwhile.
  void run(const BatchLayout& layout, std::int64_t first, std::int64_t rows, std::span<const ColumnId> columns,
           ColumnBlock& block, const StopCheck& check) const;
  /// The same for all columns that the plan uses.
  void run(const BatchLayout& layout, std::int64_t first, std::int64_t rows, ColumnBlock& block,
           const StopCheck& check) const {
    run(layout, first, rows, columns_, block, check);
  }

 private:
  std::vector<ColumnId> columns_;  // a column of the source has the same number in its row blocks
};

}  // namespace forebay::engine
