// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/memory/fork_guard.h"
#include "engine/memory/sync.h"
#include "engine/program/program.h"
#include "engine/tickets/batch_content.h"

namespace forebay::engine {

/// Recycles all parts of a batch except its arrays (docs/adr/0013). One thread makes a batch and another drops it, and
/// memory that moves between heap arenas costs both. Any thread may call. Batches may outlive the run. In a child that
/// was forked after the recycler was made nothing returns to it, because a lost thread may hold the mutex.
class BatchRecycler : public std::enable_shared_from_this<BatchRecycler> {
 public:
  explicit BatchRecycler(std::shared_ptr<const Program> program);
  /// A content without rows and lengths; its values have at most room for their shapes. It returns to the recycler when
  /// its last owner drops it.
  [[nodiscard]] std::shared_ptr<Batch::Content> take() EXCLUDES(mutex_);

 private:
  void give(std::unique_ptr<Batch::Content> content) EXCLUDES(mutex_);

  const std::uint64_t generation_ = fork_generation();
  const std::shared_ptr<const Program> program_;
  std::shared_ptr<const std::vector<std::string>> names_;  // names of the outputs
  Mutex mutex_;
  std::vector<std::unique_ptr<Batch::Content>> free_ GUARDED_BY(mutex_);
  std::size_t kept_rows_ GUARDED_BY(mutex_) = 0;  // rows that the contents in free_ have room for
};

}  // namespace forebay::engine
