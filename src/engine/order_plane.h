// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/position.h"
#include "engine/program.h"
#include "engine/streams.h"

namespace forebay::engine {

/// Consecutive rows of a batch that come from one block. Its memory is there as long as the batch is not finished.
struct Run {
  const std::byte* base = nullptr;  ///< What the offsets count from.
  const Extent* moved = nullptr;    ///< Where the block's records are now, by ordinal; null: where the handles say.
  std::uint32_t mask = UINT32_MAX;  ///< For the handles' offsets; 0: `base` is where the only record lies.
  std::int64_t rows = 0;
  std::uint32_t file = 0;
  std::int64_t first_record = 0;  ///< Of the block.
  std::int64_t file_offset = 0;   ///< Of the block, in the uncompressed file.
};

/// A batch as the order plane decides it: which record goes into which row.
struct Layout {
  std::vector<Handle> handles;  ///< One a row.
  std::vector<Run> runs;
  std::int64_t rows = 0;  ///< At least handles.size(); more are filled with nothing.
  std::int64_t epoch = 0;
  std::int64_t number = 0;
  double complete_frac = 0;  ///< Of the run, or of the epoch when the run is endless.
  Position after;            ///< Where a run that goes on behind this batch stands.

  /// The run that a row with a record belongs to.
  [[nodiscard]] const Run& run_of(std::int64_t row) const;
  /// Byte of the record's payload in the (uncompressed) file.
  [[nodiscard]] std::int64_t payload_offset(std::int64_t row) const {
    return run_of(row).file_offset + handles[static_cast<std::size_t>(row)].offset;
  }
  [[nodiscard]] std::int64_t record_of(std::int64_t row) const {
    return run_of(row).first_record + handles[static_cast<std::size_t>(row)].ordinal;
  }
};

/// Decides the order: pulls handles through the plan's orders, pass after pass, cuts them into batches, and keeps the
/// rows of its shard. One thread at a time.
class OrderPlane {
 public:
  OrderPlane(const Program& program, Streams& streams, Position start = {}, Shard shard = {});
  ~OrderPlane();

  /// Decides the next batch. False at the end of the run. Give an empty layout; after an error the call may be repeated
  /// with the same one.
  [[nodiscard]] Result<bool> next(Layout& layout);

 private:
  class Files;
  class Passes;
  Result<bool> cut(Layout& layout);
  Result<bool> catch_up(Layout& layout);  // to the batch that the run starts with
  void keep_shard(Layout& layout);
  void find_runs(Layout& layout);

  const Program& program_;
  Streams& streams_;
  const Position start_;
  const Shard shard_;
  std::unique_ptr<Passes> passes_;
  std::unique_ptr<Batcher> batcher_;
  std::int64_t number_;
  double complete_frac_ = 0;
};

}  // namespace forebay::engine
