// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/buffer_pool.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "engine/memory/catch_all.h"

namespace forebay::engine {

namespace {

// Bytes in use. From here on, a new buffer is one of many and will be filled: one call gets all of its pages.
constexpr std::int64_t populated_from = std::int64_t{4} << 20;

std::byte* next_of(const std::byte* memory) {
  std::byte* next = nullptr;
  std::memcpy(&next, memory, sizeof(next));
  return next;
}

void set_next(std::byte* memory, std::byte* next) { std::memcpy(memory, &next, sizeof(next)); }

/// In builds for tests, every buffer comes with other bytes than the one before, so that what nobody has written
/// differs from run to run.
std::byte* poisoned(std::byte* memory, [[maybe_unused]] std::size_t size) {
#ifdef FOREBAY_POISON
  static std::atomic<std::uint32_t> buffers{0};
  std::memset(memory, static_cast<int>(0x81 + 37 * buffers.fetch_add(1, std::memory_order_relaxed)), size);
#endif
  return memory;
}

}  // namespace

// Four classes in every power of two: at most a quarter of a buffer is unused.
BufferPool::Class BufferPool::class_of(std::size_t size) {
  if (size <= (std::size_t{1} << smallest)) return {0, std::size_t{1} << smallest};
  if (size > (std::size_t{1} << 47)) throw std::bad_alloc{};
  const auto power = static_cast<std::size_t>(std::bit_width(size - 1)) - 1;
  const std::size_t quarter = (std::size_t{1} << power) / 4;
  const std::size_t step = (size - (std::size_t{1} << power) + quarter - 1) / quarter;
  return {4 * (power - smallest) + step, (std::size_t{1} << power) + step * quarter};
}

std::size_t BufferPool::size_of_class(std::size_t index) {
  const std::size_t power = std::size_t{1} << (smallest + index / 4);
  return power + index % 4 * (power / 4);
}

void BufferPool::deallocate_all(const Lists& lists) const {
  for (std::size_t index = 0; index < lists.size(); ++index) {
    for (std::byte* memory = lists[index]; memory != nullptr;)
      allocator_->deallocate(std::exchange(memory, next_of(memory)), size_of_class(index));
  }
}

BufferPool::~BufferPool() {
  for (const Lists& lists : free_) deallocate_all(lists);
}

/// Threads are numbered in the order of their first call, so up to 8 threads of a run share no list.
std::uint32_t BufferPool::list_of_this_thread() {
  static std::atomic<std::uint32_t> threads{0};
  thread_local const std::uint32_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number % thread_lists;
}

std::byte* BufferPool::take_free(std::size_t index, std::size_t list) {
  for (std::size_t i = 0; i < thread_lists; ++i) {
    std::byte*& first = free_[(list + i) % thread_lists][index];
    if (first != nullptr) return std::exchange(first, next_of(first));
  }
  return nullptr;
}

std::byte* BufferPool::take(std::size_t size, Lent lent) {
  const Class type = class_of(size);
  const auto bytes = static_cast<std::int64_t>(type.size);
  bool much = false;
  {
    const Lock lock{mutex_};
    used_[static_cast<std::size_t>(lent.use)] += bytes;
    much = used() > populated_from;
    if (std::byte* const memory = take_free(type.index, lent.list)) {
      free_bytes_ -= bytes;
      return poisoned(memory, type.size);
    }
  }
  evict();
  if (std::byte* const memory = allocator_->allocate(type.size, much)) return poisoned(memory, type.size);
  used_[static_cast<std::size_t>(lent.use)] -= bytes;
  throw std::bad_alloc{};
}

void BufferPool::look() const {
  if (closed_.load(std::memory_order_relaxed)) throw Closed{};
}

/// Frees all recycled memory when lent and recycled memory together exceed the budget; page-locked memory only when
/// they do so without the other.
void BufferPool::evict() {
  std::array<Lists, thread_lists> evicted;
  bool still = false;
  {
    const Lock lock{mutex_};
    if (used() + free_bytes_ <= limit_) return;
    evicted = std::exchange(free_, {});
    free_bytes_ = 0;
    for (const auto& buffer : free_pinned_) free_bytes_ += static_cast<std::int64_t>(buffer->size());
    still = !free_pinned_.empty() && used() + free_bytes_ > limit_;
  }
  for (const Lists& lists : evicted) deallocate_all(lists);
  if (still) drop_pinned();
}

void BufferPool::close() {
  closed_.store(true, std::memory_order_relaxed);
  if (pins()) drop_pinned();
}

std::int64_t BufferPool::pinned() const {
  const Lock lock{mutex_};
  return pinned_bytes_;
}

void BufferPool::give(std::byte* memory, std::size_t size, Lent lent) {
  if (forked_since(generation_)) return abandon(shared_from_this());
  const Class type = class_of(size);
  const auto bytes = static_cast<std::int64_t>(type.size);
  {
    const Lock lock{mutex_};
    used_[static_cast<std::size_t>(lent.use)] -= bytes;
    if (used() + free_bytes_ + bytes <= limit_) {
      set_next(memory, std::exchange(free_[lent.list][type.index], memory));
      free_bytes_ += bytes;
      return;
    }
  }
  allocator_->deallocate(memory, type.size);
}

std::shared_ptr<std::byte> BufferPool::lend(std::size_t size, MemoryUse use) {
  const Lent lent{.list = list_of_this_thread(), .use = use};
  return {take(size, lent),
          [pool = shared_from_this(), size, lent](std::byte* memory) { pool->give(memory, size, lent); }};
}

std::shared_ptr<void> BufferPool::charge(std::int64_t bytes, MemoryUse use) {
  std::atomic<std::int64_t>& used = used_[static_cast<std::size_t>(use)];
  used += bytes;
  return {this, [pool = shared_from_this(), &used, bytes](void*) {
            if (forked_since(pool->generation_)) return abandon(pool);
            used -= bytes;
          }};
}

void Charge::set(BufferPool& pool, std::int64_t bytes, MemoryUse use) {
  if (bytes == bytes_) return;
  held_.reset();
  bytes_ = 0;
  held_ = pool.charge(bytes, use);
  bytes_ = bytes;
}

}  // namespace forebay::engine
