// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/memory/recycler.h"
#include "engine/program/program.h"
#include "engine/tickets/finish/batch_content.h"

namespace forebay::engine {

/// Recycles the parts of a batch that are not its arrays: names, layout, shapes. A worker makes a batch and the
/// consumer drops it; memory that the heap carries from one thread to the other costs both.
///
/// Thread-safe. Batches may outlive the run, so each shares ownership of the recycler. In a forked child, nothing that
/// was made before the fork comes back.
class BatchRecycler : public std::enable_shared_from_this<BatchRecycler> {
 public:
  explicit BatchRecycler(std::shared_ptr<const Program> program);
  /// Content without rows and lengths, and with empty values. It comes back when its last owner drops it.
  [[nodiscard]] std::shared_ptr<Batch::Content> take();

 private:
  void give(std::unique_ptr<Batch::Content> content);

  const std::shared_ptr<const Program> program_;
  std::shared_ptr<const std::vector<std::string>> names_;  // of the outputs
  Recycler<Batch::Content> free_;
  std::atomic<std::size_t> free_rows_{0};  // that the content in free_ has capacity for
};

}  // namespace forebay::engine
