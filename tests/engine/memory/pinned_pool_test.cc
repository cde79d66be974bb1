// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/catch_all.h"
#include "tests/support/counted_pins.h"

namespace forebay::engine {
namespace {

using tests::CountedPins;

class PinnedPool : public ::testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<BufferPool> pool_of(std::int64_t limit) const {
    return std::make_shared<BufferPool>(limit, nullptr, pins_);
  }
  const std::shared_ptr<CountedPins> pins_ = std::make_shared<CountedPins>();
  tests::PinCounts& counts_ = pins_->counts();
};

TEST_F(PinnedPool, LocksABufferOnceHoweverOftenItIsLent) {
  {
    const auto pool = pool_of(1 << 20);
    for (int i = 0; i < 100; ++i) {
      const auto first = pool->lend_pinned(5000), second = pool->lend_pinned(5000);
      std::memset(first.get(), i, 5000 + 64);  // with the slack
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % 64, 0U);
      EXPECT_EQ(std::pair(pool->used(), pool->pinned()), std::pair(std::int64_t{10240}, std::int64_t{10240}));
    }
    EXPECT_EQ(std::pair(pool->used(), pool->pinned()), std::pair(std::int64_t{0}, std::int64_t{10240}));
    EXPECT_EQ(counts_.made, 2);
  }
  EXPECT_EQ(counts_.live, 0);
}

TEST_F(PinnedPool, OnlyWhatIsLentPinnedIsPageLocked) {
  const auto pool = pool_of(1 << 20), plain = std::make_shared<BufferPool>(1 << 20);
  const auto locked = pool->lend_pinned(1), other = pool->lend(1), without = plain->lend_pinned(1);
  EXPECT_TRUE(BufferPool::page_locked(locked));
  EXPECT_FALSE(BufferPool::page_locked(other) || BufferPool::page_locked(without) || BufferPool::page_locked(nullptr));
  EXPECT_TRUE(pool->pins() && !plain->pins());
  EXPECT_EQ(counts_.made, 1);
}

TEST_F(PinnedPool, ABufferThatACopyReadsIsNotLentAgain) {
  const auto pool = pool_of(1 << 20);
  counts_.busy = true;
  std::byte* const first = pool->lend_pinned(4096).get();
  auto other = pool->lend_pinned(4096);
  EXPECT_NE(other.get(), first);
  counts_.busy = false;  // the copy is done
  EXPECT_EQ(pool->lend_pinned(4096).get(), first);
  EXPECT_EQ(std::pair(counts_.made.load(), counts_.waits.load()), std::pair(std::int64_t{2}, std::int64_t{0}));
}

TEST_F(PinnedPool, WaitsForTheDeviceWhereTheBudgetIsFull) {
  const auto pool = pool_of(3 * 4096);
  counts_.busy = true;
  for (int i = 0; i < 10; ++i) static_cast<void>(pool->lend_pinned(4096));
  EXPECT_EQ(std::pair(counts_.made.load(), counts_.waits.load()), std::pair(std::int64_t{3}, std::int64_t{7}));
}

TEST_F(PinnedPool, UnlocksMemoryOnlyWhereTheBudgetIsFullWithoutOther) {
  const auto pool = pool_of(4 * 4096);
  static_cast<void>(pool->lend_pinned(4096));
  static_cast<void>(pool->lend(2 * 4096));
  const auto more = pool->lend(3 * 4096);  // takes the place of the recycled memory that is not locked
  EXPECT_EQ(std::pair(pool->pinned(), counts_.live.load()), std::pair(std::int64_t{4096}, std::int64_t{1}));
  const auto last = pool->lend(4096);
  EXPECT_EQ(std::pair(pool->pinned(), counts_.live.load()), std::pair(std::int64_t{0}, std::int64_t{0}));
}

TEST_F(PinnedPool, AfterTheCloseMemoryIsFreedWhenItIsGivenBack) {
  const auto pool = pool_of(1 << 20);
  auto kept = pool->lend_pinned(4096);
  static_cast<void>(pool->lend_pinned(8192));
  EXPECT_EQ(counts_.live, 2);
  pool->close();
  EXPECT_EQ(counts_.live, 1);
  std::memset(kept.get(), 1, 4096);
  kept.reset();
  EXPECT_EQ(std::pair(pool->pinned(), counts_.live.load()), std::pair(std::int64_t{0}, std::int64_t{0}));
}

TEST_F(PinnedPool, MemoryOutlivesThePoolThatLentItAndAnyCopyOutOfIt) {
  auto lent = pool_of(1 << 20)->lend_pinned(5000);
  EXPECT_EQ(counts_.live, 1);
  counts_.busy = true;
  lent.reset();
  EXPECT_EQ(std::pair(counts_.live.load(), counts_.waits.load()), std::pair(std::int64_t{0}, std::int64_t{1}));
}

TEST_F(PinnedPool, WhatCannotBeLockedIsAnErrorThatSaysWhyAfterFreeBuffersWereUnlocked) {
  const auto pool = pool_of(1 << 20);
  counts_.max = 1;
  static_cast<void>(pool->lend_pinned(4096));
  auto larger = pool->lend_pinned(100'000);
  EXPECT_EQ(std::pair(counts_.made.load(), counts_.live.load()), std::pair(std::int64_t{2}, std::int64_t{1}));
  const std::int64_t used = pool->used();
  const auto error = catch_all([&] { static_cast<void>(pool->lend_pinned(4096)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->text(), "no more memory can be locked");
  EXPECT_EQ(std::pair(pool->used(), pool->pinned()), std::pair(used, used));
}

TEST_F(PinnedPool, SeveralThreadsLendAndGiveBack) {
  const auto pool = pool_of(64 << 10);
  counts_.busy = true;
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed < 4; ++seed) {
      threads.emplace_back([&pool, seed] {
        std::shared_ptr<std::byte> held;
        for (unsigned i = 0; i < 2'000; ++i) {
          const std::size_t size = 4096U << ((i * 7 + seed) % 3);
          auto lent = i % 5 == 0 ? pool->lend(size) : pool->lend_pinned(size);
          std::memset(lent.get(), static_cast<int>(seed), size);
          EXPECT_TRUE(BufferPool::record_stream(lent, {}).ok());
          held = std::move(lent);
        }
      });
    }
  }
  EXPECT_EQ(pool->used(), 0);
  pool->close();
  EXPECT_EQ(std::pair(pool->pinned(), counts_.live.load()), std::pair(std::int64_t{0}, std::int64_t{0}));
}

}  // namespace
}  // namespace forebay::engine
