// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/buffer_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <latch>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/memory/catch_all.h"

namespace forebay::engine {
namespace {

constexpr std::size_t kib = 1024;

TEST(BufferPool, GivesTheSameMemoryAgain) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  const std::byte* const first = pool->lend(5000).get();
  EXPECT_EQ(pool->lend(5100).get(), first);  // the same size class
}

TEST(BufferPool, GivesAThreadWhatItHadBefore) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  auto mine = pool->lend(5000);
  std::shared_ptr<std::byte> its;
  const std::byte* its_next = nullptr;
  std::latch lent{1}, given_back{1};
  std::thread other{[&] {
    its = pool->lend(5000);
    lent.count_down();
    given_back.wait();
    its_next = pool->lend(5000).get();
  }};
  lent.wait();
  const std::byte* const its_first = its.get();
  const std::byte* const my_first = mine.get();
  its.reset();  // given back last, and not by the one that had it
  mine.reset();
  given_back.count_down();
  other.join();
  EXPECT_EQ(its_next, its_first);
  EXPECT_EQ(pool->lend(5000).get(), my_first);
}

TEST(BufferPool, GivesAThreadWhatOthersHadRatherThanMore) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  const std::byte* its = nullptr;
  std::thread{[&] { its = pool->lend(5000).get(); }}.join();
  EXPECT_EQ(pool->lend(5000).get(), its);
}

TEST(BufferPool, MemoryOutlivesEverybodyButItsOwner) {
  std::shared_ptr<std::byte> lent;
  {
    const auto pool = std::make_shared<BufferPool>(1 << 20);
    lent = pool->lend(100);
  }
  lent.get()[99] = std::byte{7};
  EXPECT_EQ(lent.get()[99], std::byte{7});
}

TEST(BufferPool, CountsWhatWasTakenElsewhereAsLongAsSomebodyHoldsTheCharge) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  auto charge = pool->charge(1000);
  const auto other = pool->charge(24);
  const std::shared_ptr<void> again = charge;
  charge.reset();
  EXPECT_EQ(pool->used(), 1024);
  EXPECT_EQ(pool->over((1 << 20) - 1024), false);
  EXPECT_EQ(pool->over((1 << 20) - 1023), true);
}

TEST(BufferPool, CountsWhatIsTakenAndForgetsWhatIsGivenBack) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  const auto a = pool->lend(4 * kib);
  EXPECT_EQ(pool->used(), static_cast<std::int64_t>(4 * kib));
  {
    const auto b = pool->lend(16 * kib);
    EXPECT_EQ(pool->used(), static_cast<std::int64_t>(20 * kib));
  }
  EXPECT_EQ(pool->used(), static_cast<std::int64_t>(4 * kib));
}

TEST(BufferPool, CountsMemoryByItsUse) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  const auto counts = [&] {
    return std::vector{pool->used(MemoryUse::scan), pool->used(MemoryUse::order), pool->used(MemoryUse::decode)};
  };
  {
    const auto block = pool->lend(4 * kib, MemoryUse::scan);
    const auto batch = pool->lend(8 * kib);
    Charge handles;
    handles.set(*pool, 100, MemoryUse::order);
    EXPECT_EQ(counts(), (std::vector<std::int64_t>{4 * kib, 100, 8 * kib}));
    EXPECT_EQ(pool->used(), static_cast<std::int64_t>(12 * kib + 100));
  }
  EXPECT_EQ(counts(), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(BufferPool, WastesAtMostAQuarter) {
  const auto pool = std::make_shared<BufferPool>(std::int64_t{1} << 40);
  for (std::size_t size = 4 * kib; size < 4096 * kib; size = size * 5 / 4 + 3) {
    const std::int64_t before = pool->used();
    const auto memory = pool->lend(size);
    const std::int64_t taken = pool->used() - before;
    EXPECT_GE(taken, static_cast<std::int64_t>(size));
    EXPECT_LE(taken * 4, static_cast<std::int64_t>(size) * 5) << size;
  }
}

TEST(BufferPool, KeepsNothingBeyondItsLimit) {
  const auto pool = std::make_shared<BufferPool>(64 * static_cast<std::int64_t>(kib));
  {
    const auto large = pool->lend(128 * kib);
    EXPECT_TRUE(pool->over(0));
  }  // freed, not kept: a sanitizer sees a leak otherwise
  EXPECT_EQ(pool->used(), 0);
}

TEST(BufferPool, MemoryIsAlignedForVectorCode) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  for (const std::size_t size : {1, 65, 5000, 70000}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->lend(size).get()) % 64, 0U) << size;
  }
}

TEST(BufferPool, MemoryThatTheMachineDoesNotHaveIsNotCounted) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  EXPECT_THROW(static_cast<void>(pool->lend(std::size_t{1} << 47)), std::bad_alloc);
  EXPECT_EQ(pool->used(), 0);
}

TEST(BufferPool, TellsWhetherTheRunIsOver) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  pool->look();
  pool->close();
  EXPECT_THROW(pool->look(), Closed);
  EXPECT_NE(pool->lend(64 * kib), nullptr) << "who has work at hand may end it";
}

TEST(BufferPool, GivesBackToTheMachineWhatOtherSizesKeepWhenTheBudgetIsReached) {
  const auto pool = std::make_shared<BufferPool>(64 * static_cast<std::int64_t>(kib));
  {
    const std::vector<std::shared_ptr<std::byte>> some{pool->lend(8 * kib), pool->lend(8 * kib), pool->lend(16 * kib)};
  }
  const auto large = pool->lend(64 * kib);  // what was kept is freed, once: a sanitizer sees it otherwise
  EXPECT_EQ(pool->used(), static_cast<std::int64_t>(64 * kib));
}

TEST(BufferPool, AForkedChildGivesNothingBack) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  auto lent = pool->lend(4 * kib);
  auto charge = pool->charge(1000);
  const pid_t child = fork();
  if (child == 0) {
    lent.reset();
    charge.reset();
    _exit(pool->used() == static_cast<std::int64_t>(4 * kib) + 1000 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace forebay::engine
