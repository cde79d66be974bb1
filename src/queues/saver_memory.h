// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <forebay/batch.h>

namespace forebay::queues {

/// A free list of the memory of batches, or of examples. Thread-safe. A block returns when its last tensor is gone.
class SaverMemory : public std::enable_shared_from_this<SaverMemory> {
 public:
  /// Gives each tensor memory for its shape, in one block. The memory is not initialized. Strings are left out.
  void place(const std::vector<Tensor*>& tensors);

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };
  struct Lent;
  [[nodiscard]] std::shared_ptr<std::byte> lend(std::size_t bytes);
  void give_back(Block block) noexcept;

  std::mutex mutex_;
  std::vector<Block> free_;
  std::size_t free_bytes_ = 0;
};

}  // namespace forebay::queues
