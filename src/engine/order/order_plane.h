// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/order/batch_layout.h"
#include "engine/order/open_files.h"
#include "engine/program/position.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Decides the content of each batch.
///
///     Files ─► orders of files ─► interleave ─► orders of records ─► Batcher ─► rows of this shard ─► BatchLayout
///     └─────────────── Passes: one pass after the other ────────────┘
///
/// Owned by the Scheduler. The holder of the baton calls it, so one thread at a time. A restart begins with the pass of
/// `start`, repeats its order without delivering, and delivers from batch `start.next` on.
class OrderPlane {
 public:
  /// `program` and `streams` must outlive this object. Nothing is read before the first `next`.
  OrderPlane(const Program& program, OpenFiles& streams, Position start = {}, Shard shard = {});
  ~OrderPlane();

  /// Decides the next batch and fills `layout`. Returns false at the end of the run.
  ///
  /// The first call takes an empty layout. After an error, also Code::cancelled after the deadline of OpenFiles, the
  /// call may be repeated with the same layout and continues. Fails with Code::data when a file cannot be read or no
  /// batch can ever be full, and with Code::state when the files have fewer records than `start` says.
  [[nodiscard]] Result<bool> next(BatchLayout& layout);

 private:
  class Files;
  class FilesOfPass;
  class Passes;
  Result<bool> cut(BatchLayout& layout);
  Result<bool> catch_up(BatchLayout& layout);  // decides and drops the batches before start_.next
  void keep_shard(BatchLayout& layout);        // drops the rows of other shards

  const Program& program_;
  OpenFiles& open_files_;
  const Position start_;
  const Shard shard_;
  std::unique_ptr<Passes> passes_;
  std::unique_ptr<Batcher> batcher_;
  std::int64_t number_;           // of the next batch
  double complete_frac_ = 0;      // the largest so far
  int passes_without_batch_ = 0;  // consecutive passes that had records but no batch
  bool fetching_ = false;         // the layout is decided, its compressed records are not all in memory
};

}  // namespace forebay::engine
