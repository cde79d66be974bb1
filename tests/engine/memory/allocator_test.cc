// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/allocator.h"

#include <cstring>
#include <memory>
#include <new>

#include <gtest/gtest.h>

#include "engine/memory/buffer_pool.h"
#include "tests/support/counted_memory.h"

namespace forebay::engine {
namespace {

TEST(Allocator, ThePoolTakesAllItsMemoryFromItAndGivesAllBack) {
  const auto memory = std::make_shared<tests::CountedMemory>();
  {
    const auto pool = std::make_shared<BufferPool>(1 << 20, memory);
    auto small = pool->lend(100);
    const auto large = pool->lend(700'000);
    std::memset(small.get(), 1, 100 + 64);  // with the slack
    std::memset(large.get(), 1, 700'000 + 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.get()) % 64, 0U);
    EXPECT_EQ(memory->taken(), 2);
    const std::byte* const place = small.get();
    small.reset();
    EXPECT_EQ(pool->lend(100).get(), place) << "recycled by the pool";
    EXPECT_EQ(memory->taken(), 2);
    EXPECT_EQ(memory->held(), pool->used() + 4096);
  }
  EXPECT_EQ(memory->held(), 0);
}

TEST(Allocator, MemoryOutlivesThePoolThatLentIt) {
  const auto memory = std::make_shared<tests::CountedMemory>();
  std::shared_ptr<std::byte> lent = std::make_shared<BufferPool>(1 << 20, memory)->lend(5000);
  EXPECT_EQ(memory->held(), 5120);
  lent.reset();
  EXPECT_EQ(memory->held(), 0);
}

TEST(Allocator, WithoutMemoryLendThrowsAndCountsNothing) {
  const auto memory = std::make_shared<tests::CountedMemory>(1);
  const auto pool = std::make_shared<BufferPool>(1 << 20, memory);
  const auto first = pool->lend(4096);
  EXPECT_THROW(static_cast<void>(pool->lend(4096)), std::bad_alloc);
  EXPECT_EQ(pool->used(), 4096);
}

}  // namespace
}  // namespace forebay::engine
