// SPDX-License-Identifier: Apache-2.0
#include "engine/pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "engine/guarded.h"

namespace forebay::engine {
namespace {

constexpr std::size_t kib = 1024;

TEST(Pool, GivesTheSameMemoryAgain) {
  const auto pool = std::make_shared<Pool>(1 << 20);
  std::byte* const first = pool->take(5000);
  pool->give(first, 5000);
  std::byte* const second = pool->take(5100);  // the same size class
  EXPECT_EQ(first, second);
  pool->give(second, 5100);
}

TEST(Pool, MemoryOutlivesEverybodyButItsOwner) {
  std::shared_ptr<std::byte> lent;
  {
    const auto pool = std::make_shared<Pool>(1 << 20);
    lent = pool->lend(100);
  }
  lent.get()[99] = std::byte{7};
  EXPECT_EQ(lent.get()[99], std::byte{7});
}

TEST(Pool, CountsWhatWasTakenElsewhereAsLongAsSomebodyHoldsTheCharge) {
  const auto pool = std::make_shared<Pool>(1 << 20);
  auto charge = pool->charge(1000);
  const auto other = pool->charge(24);
  const std::shared_ptr<void> again = charge;
  charge.reset();
  EXPECT_EQ(pool->used(), 1024);
  EXPECT_EQ(pool->over((1 << 20) - 1024), false);
  EXPECT_EQ(pool->over((1 << 20) - 1023), true);
}

TEST(Pool, CountsWhatIsTakenAndForgetsWhatIsGivenBack) {
  const auto pool = std::make_shared<Pool>(1 << 20);
  const auto a = pool->lend(4 * kib);
  EXPECT_EQ(pool->used(), static_cast<std::int64_t>(4 * kib));
  {
    const auto b = pool->lend(16 * kib);
    EXPECT_EQ(pool->used(), static_cast<std::int64_t>(20 * kib));
  }
  EXPECT_EQ(pool->used(), static_cast<std::int64_t>(4 * kib));
}

TEST(Pool, WastesAtMostAQuarter) {
  const auto pool = std::make_shared<Pool>(std::int64_t{1} << 40);
  for (std::size_t size = 4 * kib; size < 4096 * kib; size = size * 5 / 4 + 3) {
    const std::int64_t before = pool->used();
    std::byte* const memory = pool->take(size);
    const std::int64_t taken = pool->used() - before;
    EXPECT_GE(taken, static_cast<std::int64_t>(size));
    EXPECT_LE(taken * 4, static_cast<std::int64_t>(size) * 5) << size;
    pool->give(memory, size);
  }
}

TEST(Pool, KeepsNothingBeyondItsLimit) {
  const auto pool = std::make_shared<Pool>(64 * static_cast<std::int64_t>(kib));
  std::byte* const large = pool->take(128 * kib);
  EXPECT_TRUE(pool->over(0));
  pool->give(large, 128 * kib);  // freed, not kept: a sanitizer sees a leak otherwise
  EXPECT_EQ(pool->used(), 0);
}

TEST(Pool, MemoryIsAlignedForVectorCode) {
  const auto pool = std::make_shared<Pool>(1 << 20);
  for (const std::size_t size : {1, 65, 5000, 70000}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->lend(size).get()) % 64, 0U) << size;
  }
}

TEST(Pool, MemoryThatTheMachineDoesNotHaveIsNotCounted) {
  const auto pool = std::make_shared<Pool>(1 << 20);
  EXPECT_THROW(static_cast<void>(pool->take(std::size_t{1} << 47)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pool->lend(std::size_t{1} << 47)), std::bad_alloc);
  EXPECT_EQ(pool->used(), 0);
}

TEST(Pool, TellsWhetherTheRunIsOver) {
  const auto pool = std::make_shared<Pool>(1 << 20);
  pool->look();
  pool->close();
  EXPECT_THROW(pool->look(), Closed);
  EXPECT_NE(pool->lend(64 * kib), nullptr) << "who has work at hand may end it";
}

TEST(Pool, GivesBackToTheMachineWhatOtherSizesKeepWhenTheBudgetIsReached) {
  const auto pool = std::make_shared<Pool>(64 * static_cast<std::int64_t>(kib));
  {
    const std::vector<std::shared_ptr<std::byte>> some{pool->lend(8 * kib), pool->lend(8 * kib), pool->lend(16 * kib)};
  }
  const auto large = pool->lend(64 * kib);  // what was kept is freed, once: a sanitizer sees it otherwise
  EXPECT_EQ(pool->used(), static_cast<std::int64_t>(64 * kib));
}

TEST(Pool, AForkedChildGivesNothingBack) {
  const auto pool = std::make_shared<Pool>(1 << 20);
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
