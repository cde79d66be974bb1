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

/// Decides the order: pulls handles through the plan's orders, pass after pass, cuts them into batches, and keeps the
/// rows of its shard. One thread at a time.
class OrderPlane {
 public:
  OrderPlane(const Program& program, OpenFiles& streams, Position start = {}, Shard shard = {});
  ~OrderPlane();

  /// Decides the next batch. False at the end of the run. Give an empty layout; after an error the call may be repeated
  /// with the same one.
  [[nodiscard]] Result<bool> next(BatchLayout& layout);

 private:
  class Files;
  class FilesOfPass;
  class Passes;
  Result<bool> cut(BatchLayout& layout);
  Result<bool> catch_up(BatchLayout& layout);  // to the batch that the run starts with
  void keep_shard(BatchLayout& layout);

  const Program& program_;
  OpenFiles& open_files_;
  const Position start_;
  const Shard shard_;
  std::unique_ptr<Passes> passes_;
  std::unique_ptr<Batcher> batcher_;
  std::int64_t number_;
  double complete_frac_ = 0;
  int passes_without_batch_ = 0;
  bool fetching_ = false;  // the layout is decided, its records are not all there
};

}  // namespace forebay::engine
