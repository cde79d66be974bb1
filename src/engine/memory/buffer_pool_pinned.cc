// SPDX-License-Identifier: Apache-2.0
// The page-locked buffers of a BufferPool. Locking and unlocking a buffer costs hundreds of microseconds, so a buffer
// is locked once, and the memory that is not locked is given back first where the budget is full.
#include <algorithm>
#include <utility>

#include "engine/memory/buffer_pool.h"

namespace forebay::engine {

/// Owns a lent buffer, and gives it back. It is the deleter of what `lend_pinned` returns, so `record_stream` finds it
/// by the owner of a tensor.
class BufferPool::PinnedLease {
 public:
  PinnedLease(std::shared_ptr<BufferPool> pool, PinnedBuffers one) : pool_{std::move(pool)}, one_{std::move(one)} {}
  void operator()(std::byte*) {
    if (!forked_since(pool_->generation_)) return pool_->give_pinned(std::move(one_));
    static_cast<void>(one_.front().release());  // the device is the parent's
    abandon(std::move(pool_));
  }
  Result<void> record(const DeviceStream& stream) {
    if (forked_since(pool_->generation_)) return {};
    const Lock lock{pool_->mutex_};
    return one_.front()->read_by(stream);
  }

 private:
  std::shared_ptr<BufferPool> pool_;
  PinnedBuffers one_;
};

std::shared_ptr<std::byte> BufferPool::lend_pinned(std::size_t size) {
  if (!pinned_memory_) return lend(size);
  PinnedBuffers one = take_pinned(class_of(size).size);
  std::byte* const memory = one.front()->memory();
  return {memory, PinnedLease{shared_from_this(), std::move(one)}};
}

Result<void> BufferPool::record_stream(const std::shared_ptr<void>& lent, const DeviceStream& stream) {
  PinnedLease* const lease = std::get_deleter<PinnedLease>(lent);
  return lease == nullptr ? Result<void>{} : lease->record(stream);
}

bool BufferPool::page_locked(const std::shared_ptr<void>& lent) {
  return std::get_deleter<PinnedLease>(lent) != nullptr;
}

/// The free buffer of this size that was given back first: one that no copy reads, else with `busy_too` any; else none.
BufferPool::PinnedBuffers BufferPool::take_free_pinned(std::size_t size, bool busy_too) {
  const auto fits = [size](const auto& buffer) { return buffer->size() == size; };
  auto found = std::ranges::find_if(free_pinned_, [&](const auto& each) { return fits(each) && each->idle(); });
  if (found == free_pinned_.end() && busy_too) found = std::ranges::find_if(free_pinned_, fits);
  PinnedBuffers out;
  if (found == free_pinned_.end()) return out;
  out.splice(out.end(), free_pinned_, found);
  free_bytes_ -= static_cast<std::int64_t>(size);
  return out;
}

BufferPool::PinnedBuffers BufferPool::take_pinned(std::size_t size) {
  const auto bytes = static_cast<std::int64_t>(size);
  PinnedBuffers out;
  {
    const Lock lock{mutex_};
    used_of_batches() += bytes;
    // Where the budget is full, the device is behind: the pool waits for it instead of locking more memory.
    out = take_free_pinned(size, used() + free_bytes_ > limit_);
  }
  if (!out.empty()) {
    out.front()->wait();
    return out;
  }
  try {
    evict();
    out.push_back(lock_pages(size));
  } catch (const std::bad_alloc&) {
    used_of_batches() -= bytes;
    throw;
  }
  const Lock lock{mutex_};
  pinned_bytes_ += bytes;
  return out;
}

std::unique_ptr<PinnedBuffer> BufferPool::lock_pages(std::size_t size) {
  auto made = pinned_memory_->allocate(size);
  if (made.ok()) return *std::move(made);
  drop_pinned();  // buffers of other sizes may hold what the system allows to lock
  made = pinned_memory_->allocate(size);
  if (made.ok()) return *std::move(made);
  throw NoPinnedMemory{made.error()};
}

void BufferPool::give_pinned(PinnedBuffers one) {
  PinnedBuffer& buffer = *one.front();
  const auto bytes = static_cast<std::int64_t>(buffer.size());
  const Lock lock{mutex_};
  used_of_batches() -= bytes;
  // A program that copies a tensor by itself does so in the default stream, or calls `record_stream`. A failure is that
  // of a device that has no work any more.
  static_cast<void>(buffer.read_by(std::nullopt));
  const bool fits = used() + free_bytes_ + bytes <= limit_ && !closed_.load(std::memory_order_relaxed);
  if (fits || !buffer.idle()) {  // this thread must not wait for a copy; the next one that takes memory may
    free_pinned_.splice(free_pinned_.end(), one);
    free_bytes_ += bytes;
  } else {
    pinned_bytes_ -= bytes;  // `one` is freed after the mutex
  }
}

void BufferPool::drop_pinned() {
  PinnedBuffers dropped;  // freed after the mutex: that waits for the copies
  const Lock lock{mutex_};
  for (const auto& buffer : free_pinned_) {
    const auto bytes = static_cast<std::int64_t>(buffer->size());
    free_bytes_ -= bytes;
    pinned_bytes_ -= bytes;
  }
  dropped.swap(free_pinned_);
}

}  // namespace forebay::engine
