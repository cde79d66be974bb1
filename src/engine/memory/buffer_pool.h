// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include <forebay/column.h>

#include "engine/memory/allocator.h"
#include "engine/memory/fork_guard.h"
#include "engine/memory/pinned_memory.h"
#include "engine/memory/sync.h"

namespace forebay::engine {

/// What memory of a run is for.
enum class MemoryUse : std::uint8_t {
  scan,    ///< Blocks, windows and indexes of files, rows of feeds, answers of requests.
  order,   ///< What orders, batchers and window stages keep of the records that pass.
  decode,  ///< Tickets and batches, those that the program holds, too.
};
constexpr std::size_t memory_uses = 3;

/// Memory pool and byte budget of a run.
///
///            lend(size)                     last owner drops it
///   free  ──────────────►  used (counted) ──────────────────────►  free, if used + free + size ≤ limit
///    ▲  │                       ▲                            └──►  returned to the system otherwise
///    │  └─ evict: all free memory goes back to the system when a new buffer would exceed the limit
///    └ 8 lists by thread × size classes (4 in every power of two): a thread gets its own memory first, then others'
///
/// A pool may have page-locked memory for what `lend_pinned` lends (docs/adr/0061):
///
///   free  ────────────────►  used (counted) ──────────────────────►  free, and used again when no copy reads it
///    └─ unlocked when the budget is full even without free memory of the other kind, and after `close`
///
/// The pool counts every byte that a run holds in blocks and batches; memory from elsewhere is added by `charge`.
/// `lend` never waits and never refuses because of the budget: the scheduler and the readers ask `over` before they
/// start work.
///
/// Thread-safe. Lent memory shares ownership of the pool, so it may outlive the run. Giving memory back never fails: a
/// free block stores the pointer to the next one in its own first bytes. In a child process that was forked after the
/// pool was made, memory that is given back is leaked, because the mutex may be locked there for ever.
///
/// The pool is also the run's StopCheck: long-running work polls `look`, which throws Closed after `close`.
class BufferPool final : public StopCheck, public std::enable_shared_from_this<BufferPool> {
 public:
  /// Takes its memory from `allocator`, which is shared by all memory that the pool lends; null: from the system.
  explicit BufferPool(std::int64_t limit, std::shared_ptr<Allocator> allocator = {},
                      std::shared_ptr<PinnedMemory> pinned = {})
      : limit_{limit},
        owner_{std::move(allocator)},
        allocator_{owner_ ? owner_.get() : &system_allocator()},
        pinned_memory_{std::move(pinned)} {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// Returns at least `size` bytes, 64-byte aligned and not initialized. 64 more bytes may be read and written. Memory
  /// that this thread took before comes first, as the processor's cache may still hold it. Throws std::bad_alloc when
  /// the allocator has no memory.
  [[nodiscard]] std::shared_ptr<std::byte> lend(std::size_t size, MemoryUse use = MemoryUse::decode) EXCLUDES(mutex_);

  /// As `lend`, page-locked if the pool has such memory. Waits only for copies out of buffers that were given back,
  /// when the budget is full. Throws NoPinnedMemory when no more can be locked.
  [[nodiscard]] std::shared_ptr<std::byte> lend_pinned(std::size_t size) EXCLUDES(mutex_);
  [[nodiscard]] bool pins() const { return pinned_memory_ != nullptr; }  ///< Whether it has such memory.
  /// The memory is not used again before the work that was put into the stream so far is done. Does nothing for memory
  /// that `lend_pinned` did not lend.
  [[nodiscard]] static Result<void> record_stream(const std::shared_ptr<void>& lent, const DeviceStream& stream);
  [[nodiscard]] static bool page_locked(const std::shared_ptr<void>& lent);  ///< Whether a `lend_pinned` lent it so.
  [[nodiscard]] std::int64_t pinned() const EXCLUDES(mutex_);                ///< Bytes that are page-locked.

  /// Counts memory that was taken elsewhere, until the last owner drops the result.
  [[nodiscard]] std::shared_ptr<void> charge(std::int64_t bytes, MemoryUse use = MemoryUse::decode);

  /// Lent and charged. Other threads may change it meanwhile.
  [[nodiscard]] std::int64_t used() const {
    return used(MemoryUse::scan) + used(MemoryUse::order) + used(MemoryUse::decode);
  }
  [[nodiscard]] std::int64_t used(MemoryUse use) const {
    return used_[static_cast<std::size_t>(use)].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t limit() const { return limit_; }
  [[nodiscard]] bool over(std::int64_t more) const { return used() + more > limit_; }

  /// Stops long-running work of the run. Lent memory stays valid; page-locked memory is freed when it is given back.
  void close() EXCLUDES(mutex_);
  void look() const override;  ///< Throws Closed after `close`.

 private:
  static constexpr std::size_t thread_lists = 8;
  static constexpr std::size_t smallest = 12;  // power of two: 4 KiB
  static constexpr std::size_t classes = 4 * (48 - smallest);
  struct Class {
    std::size_t index, size;
  };
  using Lists = std::array<std::byte*, classes>;  // by size class: the first free buffer
  static Class class_of(std::size_t size);
  static std::size_t size_of_class(std::size_t index);
  void deallocate_all(const Lists& lists) const;
  static std::uint32_t list_of_this_thread();
  /// Where a buffer came from, and what for.
  struct Lent {
    std::uint32_t list;
    MemoryUse use;
  };
  [[nodiscard]] std::byte* take(std::size_t size, Lent lent) EXCLUDES(mutex_);
  void give(std::byte* memory, std::size_t size, Lent lent) EXCLUDES(mutex_);
  [[nodiscard]] std::byte* take_free(std::size_t index, std::size_t list) REQUIRES(mutex_);
  void evict() EXCLUDES(mutex_);
  /// Where page-locked memory counts: batches lie in it, and nothing else.
  [[nodiscard]] std::atomic<std::int64_t>& used_of_batches() {
    return used_[static_cast<std::size_t>(MemoryUse::decode)];
  }
  class PinnedLease;
  using PinnedBuffers =
      std::list<std::unique_ptr<PinnedBuffer>>;  // a lent one is a list of one: giving needs no memory
  [[nodiscard]] PinnedBuffers take_pinned(std::size_t size) EXCLUDES(mutex_);
  [[nodiscard]] PinnedBuffers take_free_pinned(std::size_t size, bool busy_too) REQUIRES(mutex_);
  [[nodiscard]] std::unique_ptr<PinnedBuffer> lock_pages(std::size_t size) EXCLUDES(mutex_);
  void give_pinned(PinnedBuffers one) EXCLUDES(mutex_);
  void drop_pinned() EXCLUDES(mutex_);  // unlocks all free buffers

  const std::int64_t limit_;
  const std::shared_ptr<Allocator> owner_;
  Allocator* const allocator_;
  const std::shared_ptr<PinnedMemory> pinned_memory_;  // null: `lend_pinned` is `lend`
  const std::uint64_t generation_ = fork_generation();
  std::atomic<bool> closed_{false};
  std::array<std::atomic<std::int64_t>, memory_uses> used_{};  // by MemoryUse
  mutable Mutex mutex_;
  std::array<Lists, thread_lists> free_ GUARDED_BY(mutex_) = {};  // by thread
  std::int64_t free_bytes_ GUARDED_BY(mutex_) = 0;                // bytes in free_ and free_pinned_
  PinnedBuffers free_pinned_ GUARDED_BY(mutex_);                  // in the order of giving back
  std::int64_t pinned_bytes_ GUARDED_BY(mutex_) = 0;              // page-locked, free and lent
};

/// A share of the budget whose size changes, for memory that grows. The owner of the memory owns it. Not thread-safe.
class Charge {
 public:
  /// Replaces the charge by one of `bytes`. Throws std::bad_alloc; then nothing is charged.
  void set(BufferPool& pool, std::int64_t bytes, MemoryUse use = MemoryUse::decode);
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
  std::shared_ptr<void> held_;
};

}  // namespace forebay::engine
