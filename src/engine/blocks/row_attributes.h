// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forebay/column.h>
#include <forebay/record.h>

#include "engine/blocks/block_table.h"
#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"
#include "engine/read/frames/frame_values.h"

namespace forebay::engine {

/// The attributes of rows that come ready. Their columns are in memory, so nothing is computed before an order asks,
/// and nothing is stored:
///
///     handles ─► groups of 256 rows: columns of the expression copied ─► steps ─► expression ─► attributes
///
/// Attributes of single frames read row blocks in place when no step stands before the windows and the columns are
/// plain; else the rows of the frames are copied, too.
///
/// A member of OpenFiles, used by the order plane only.
class RowAttributes {
 public:
  /// `program` and `table` must outlive this object.
  RowAttributes(const Program& program, std::shared_ptr<BufferPool> pool, const BlockTable& table)
      : program_{program}, pool_{std::move(pool)}, table_{table}, frames_{program, pool_} {}

  /// Writes an attribute of these rows to `out`. Fails with Code::data at the first row for which a step or the
  /// expression fails.
  [[nodiscard]] Result<void> read(std::size_t attribute, std::span<const Handle> rows, std::span<std::int64_t> out);

  /// Writes a frame attribute of frame `frames[i]` of each row to `out`. Fails as `read`.
  [[nodiscard]] Result<void> read_frames(std::size_t attribute, std::span<const Handle> rows,
                                         std::span<const std::int64_t> frames, std::span<std::int64_t> out);

 private:
  void begin();
  void account();
  [[nodiscard]] Result<void> make_columns(std::size_t steps);
  [[nodiscard]] Result<void> compute_frames(const FrameAttribute& attribute, std::span<const Handle> rows,
                                            std::span<const std::int64_t> frames, std::span<std::int64_t> out);
  [[nodiscard]] bool find_in_blocks(const FrameAttribute& attribute, std::span<const Handle> rows,
                                    std::span<const std::int64_t> frames);
  [[nodiscard]] Result<void> compute(const EarlyAttribute& attribute, std::span<const Handle> rows,
                                     std::span<std::int64_t> out);
  void gather(std::span<const Handle> rows);
  void gather_operands(const EarlyAttribute& attribute, std::span<const Handle> rows);
  void gather_columns(std::span<const ColumnId> ids, std::span<const Handle> rows);
  [[nodiscard]] Error at_row(const Error& error, std::span<const Handle> rows) const;

  const Program& program_;
  const std::shared_ptr<BufferPool> pool_;
  const BlockTable& table_;
  ColumnBlock block_;                                  // empty before the first call
  std::vector<std::unique_ptr<StepMemory>> memories_;  // by step; empty with `block_`
  FrameValues frames_;
  std::vector<const RowBlock*> blocks_;  // scratch: of the frames
  std::vector<FrameOf> places_;          // scratch
  Charge charge_;
};

}  // namespace forebay::engine
