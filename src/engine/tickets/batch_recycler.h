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

/// Recycles what a batch is besides its arrays: a batch is made by one thread and dropped by another, and memory that
/// the heap has to carry from one to the other costs both. Batches may outlive the run. Any thread may call. In a child
/// that was forked meanwhile nothing comes back, as the mutex may be held there for ever.
class BatchRecycler : public std::enable_shared_from_this<BatchRecycler> {
 public:
  explicit BatchRecycler(std::shared_ptr<const Program> program);
  /// Without rows and lengths, and of the values there is at most room for their shapes. Comes back when the last owner
  /// lets go.
  [[nodiscard]] std::shared_ptr<Batch::Content> take() EXCLUDES(mutex_);

 private:
  void give(std::unique_ptr<Batch::Content> content) EXCLUDES(mutex_);

  const std::uint64_t generation_ = fork_generation();
  const std::shared_ptr<const Program> program_;
  std::shared_ptr<const std::vector<std::string>> names_;  // of the outputs
  Mutex mutex_;
  std::vector<std::unique_ptr<Batch::Content>> free_ GUARDED_BY(mutex_);
  std::size_t kept_rows_ GUARDED_BY(mutex_) = 0;  // that those in free_ have room for
};

}  // namespace forebay::engine
