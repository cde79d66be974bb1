// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <forebay/column.h>

#include "engine/memory/fork_guard.h"
#include "engine/memory/sync.h"

namespace forebay::engine {

/// Recycled memory in size classes, and the account of it: every byte that a run holds in blocks and batches comes from
/// here, and whoever does much for it asks here whether it is still wanted. Lent memory may outlive the pool's user, so
/// it is held by shared pointer. Any thread may call. Giving back never fails: free memory names the next of its size
/// in its own first bytes. In a child that was forked after the pool was made nothing is given back, as its mutex may
/// be held there for ever.
class BufferPool final : public StopCheck, public std::enable_shared_from_this<BufferPool> {
 public:
  explicit BufferPool(std::int64_t limit) : limit_{limit} {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// At least `size` bytes, 64-byte aligned, content unset, with 64 more bytes that may be read and written, until the
  /// last owner lets go. What this thread had before comes first: its processor's cache may still hold it. Throws
  /// std::bad_alloc when the machine has none.
  [[nodiscard]] std::shared_ptr<std::byte> lend(std::size_t size) EXCLUDES(mutex_);

  /// Accounts for memory that was taken elsewhere, until the last owner lets go.
  [[nodiscard]] std::shared_ptr<void> charge(std::int64_t bytes);

  [[nodiscard]] std::int64_t used() const { return used_.load(std::memory_order_relaxed); }  ///< Taken, not given back.
  [[nodiscard]] std::int64_t limit() const { return limit_; }
  [[nodiscard]] bool over(std::int64_t more) const { return used() + more > limit_; }

  /// The run is over: what takes long is not wanted any more. What was lent stays.
  void close() { closed_.store(true, std::memory_order_relaxed); }
  void look() const override;  ///< Throws Closed after `close`.

 private:
  static constexpr std::size_t shelves = 8;
  static constexpr std::size_t smallest = 12;  // 4 KiB
  static constexpr std::size_t classes = 4 * (48 - smallest);
  struct Class {
    std::size_t index, size;
  };
  using Lists = std::array<std::byte*, classes>;  // the first free one of each size
  static Class class_of(std::size_t size);
  static std::size_t size_of_class(std::size_t index);
  static void deallocate_all(const Lists& lists);
  static std::size_t shelf_of_this_thread();
  [[nodiscard]] std::byte* take(std::size_t size, std::size_t shelf) EXCLUDES(mutex_);
  void give(std::byte* memory, std::size_t size, std::size_t shelf) EXCLUDES(mutex_);
  [[nodiscard]] std::byte* take_kept(std::size_t index, std::size_t shelf) REQUIRES(mutex_);
  void evict() EXCLUDES(mutex_);

  const std::int64_t limit_;
  const std::uint64_t generation_ = fork_generation();
  std::atomic<bool> closed_{false};
  std::atomic<std::int64_t> used_{0};
  Mutex mutex_;
  std::array<Lists, shelves> free_ GUARDED_BY(mutex_) = {};  // by the thread that had it
  std::int64_t kept_ GUARDED_BY(mutex_) = 0;                 // in free_
};

/// A part of the budget that changes: of memory that was taken elsewhere and grows.
class Charge {
 public:
  /// From now on it is `bytes`.
  void set(BufferPool& pool, std::int64_t bytes);
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
  std::shared_ptr<void> held_;
};

}  // namespace forebay::engine
