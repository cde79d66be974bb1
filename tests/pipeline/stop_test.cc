// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"
#include "tests/engine/run/scheduler_peer.h"
#include "tests/support/resident.h"

namespace forebay {
namespace {

using testing::document;
using testing::Folder;

std::size_t entries(const char* folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator{folder}, std::filesystem::directory_iterator{}));
}

TEST(Stop, FromAnyStateLeavesNoThreadAndNoFile) {
  const Folder folder;
  for (int i = 0; i < 4; ++i)
    testing::write_examples(folder.file("part-" + std::to_string(i)), i * 500, 500,
                            i % 2 ? Compression::gzip : Compression::none);
  const Json json = document(folder.file("part-*"),
                             R"({"interleave": {"cycle": 2}}, {"shuffle": {"buffer": 200}}, {"batch": {"size": 16}})");
  {
    ASSERT_TRUE(load(json, {.threads = 2})->next().ok());
  }  // a sanitizer starts a thread of its own with the first one
  const std::size_t threads = entries("/proc/self/task");
  const std::size_t files = entries("/proc/self/fd");
  for (int round = 0; round < 200; ++round) {
    auto pipeline = load(json, {.threads = 1 + round % 4});
    ASSERT_TRUE(pipeline.ok());
    for (int i = 0; i < round % 7; ++i) ASSERT_TRUE(pipeline->next().ok());
    if (round % 2 == 0) pipeline->close();
  }
  // A joined thread may stand in the list a moment longer.
  for (int i = 0; i < 100 && entries("/proc/self/task") > threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_EQ(entries("/proc/self/task"), threads);
  EXPECT_EQ(entries("/proc/self/fd"), files);
}

TEST(Stop, TenThousandAbandonedPipelinesLeaveNothingBehind) {
  const int cycles = tests::how_much(10'000, 3'000, 300);
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 60);
  testing::write_examples(folder.file("b"), 60, 60, Compression::gzip);
  const auto plan = Plan::make(document(folder.file("[ab]"), R"({"shuffle": {"buffer": 16}}, {"batch": {"size": 8}})"));
  ASSERT_TRUE(plan.ok());
  const auto cycle = [&](int round) {
    auto pipeline = Loader::start(*plan, {.threads = 1 + round % 2, .memory = 32 << 20});
    for (int i = 0; i < round % 5; ++i) ASSERT_TRUE(pipeline->next().ok());
  };
  for (int round = 0; round < cycles / 10; ++round) cycle(round);
  const std::size_t threads = entries("/proc/self/task");
  const std::size_t files = entries("/proc/self/fd");
  const std::int64_t resident = tests::resident_bytes();
  for (int round = cycles / 10; round < cycles; ++round) cycle(round);
  for (int i = 0; i < 100 && entries("/proc/self/task") > threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_LE(entries("/proc/self/task"), threads);
  EXPECT_EQ(entries("/proc/self/fd"), files);
  // A sanitizer keeps what was freed for a while.
  EXPECT_LT(tests::resident_bytes() - resident, std::int64_t{tests::sanitized ? 512 : 4} << 20);
}

TEST(Stop, EveryCallAfterCloseIsCancelled) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 100);
  auto pipeline = load(document(folder.file("a"), R"({"batch": {"size": 16}})"));
  ASSERT_TRUE(pipeline->next().ok());
  pipeline->close();
  pipeline->close();
  const auto batch = pipeline->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().code(), Code::cancelled);
}

TEST(Stop, ACloseFromAnotherThreadEndsAnEndlessRun) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 100);
  auto pipeline = load(document(folder.file("a"), R"({"batch": {"size": 16}})", R"(, "epochs": null)"), {.threads = 2});
  std::thread closer{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    pipeline->close();
  }};
  Result<std::optional<Batch>> batch = std::optional<Batch>{};
  do batch = pipeline->next();
  while (batch.ok());
  closer.join();
  EXPECT_EQ(batch.error().code(), Code::cancelled);
}

TEST(Stop, ComesInTimeWhileGigabytesOfPaddingAreLookedThrough) {
  const Folder folder;
  const std::string path = testing::write_examples(folder.file("a"), 0, 10);
  std::filesystem::resize_file(path, std::uintmax_t{1} << 36);  // sparse: half a minute at the least
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                                   R"("], "compression": "none", "allow_trailing_zeros": true}},
                                   "decode": {"record": {}}, "steps": [{"batch": {"size": 16}}]})");
  for (const std::int64_t threads : {1, 2}) {
    auto pipeline = load(json, {.threads = threads});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    std::thread closer{[&] {
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      const auto since = std::chrono::steady_clock::now();
      pipeline->close();
      EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds{2});
    }};
    const auto batch = pipeline->next();
    closer.join();
    ASSERT_FALSE(batch.ok());
    EXPECT_EQ(batch.error().code(), Code::cancelled);
  }
}

/// So many threads that begin at once.
void at_once(int count, const std::function<void(int)>& work) {
  std::atomic<int> there{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&, number] {
      for (++there; there < count;) std::this_thread::yield();
      work(number);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Stop, SeveralClosesAtOnceAllReturnAndSoDoesARestart) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 100);
  const auto plan = Plan::make(document(folder.file("a"), R"({"batch": {"size": 16}})", R"(, "epochs": null)"));
  ASSERT_TRUE(plan.ok());
  for (int round = 0; round < tests::how_much(300, 100, 30); ++round) {
    auto pipeline = Loader::start(*plan, {.threads = 2});
    ASSERT_TRUE(pipeline.ok() && pipeline->next().ok());
    const auto state = pipeline->state();
    ASSERT_TRUE(state.ok());
    at_once(3, [&](int number) {
      if (number == 0) {
        const auto restored = pipeline->restore(*state);
        EXPECT_TRUE(restored.ok() || restored.error().code() == Code::cancelled);
      } else {
        pipeline->close();
      }
    });
    const auto batch = pipeline->next();
    EXPECT_TRUE(!batch.ok() && batch.error().code() == Code::cancelled);
  }
}

TEST(Stop, ACloseIsNotTheEndOfTheRun) {
  const Folder folder;
  for (int i = 0; i < 4; ++i) testing::write_examples(folder.file("part-" + std::to_string(i)), 16 * i, 16);
  const auto plan = Plan::make(document(folder.file("part-?"), R"({"batch": {"size": 16}})"));
  ASSERT_TRUE(plan.ok());
  for (const int taken : {1, 4}) {
    engine::Scheduler scheduler{engine::share_program(*plan),
                                {.threads = 1, .memory = 64 << 20, .prefetch = 16, .shard_count = 1}};
    bool timed_out = false;
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(scheduler.next(std::nullopt, timed_out).ok());
    while (!engine::SchedulerPeer::order_over(scheduler)) std::this_thread::yield();
    const double before = scheduler.complete_frac();
    EXPECT_EQ(before == 1, taken == 4);
    scheduler.close();
    EXPECT_EQ(scheduler.complete_frac(), before);
  }
}

TEST(Stop, BatchesOutliveTheirPipeline) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 100);
  std::optional<Batch> batch;
  {
    auto pipeline = load(document(folder.file("a"), R"({"batch": {"size": 16}})"));
    batch = **pipeline->next();
  }
  EXPECT_EQ(batch->tensor("id").as<std::int64_t>()[15], 15);
  EXPECT_EQ(batch->tensor("name").string(3), "record 3");
}

TEST(Fork, AChildGetsAnErrorAndTheParentGoesOn) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 1000);
  auto pipeline = load(document(folder.file("a"), R"({"batch": {"size": 16}})"), {.threads = 2});
  ASSERT_TRUE(pipeline->next().ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto batch = pipeline->next();
    const bool told = !batch.ok() && batch.error().text().find("fork") != std::string::npos;
    { const Loader dropped = *std::move(pipeline); }
    _exit(told ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(pipeline->next().ok());
}

/// Whether a child that does this ends by itself, and with true. ThreadSanitizer does not free all locks of its own in
/// a child (GCC 12: that of its stack depot), so there a child may hang in it: then another one is asked, at most
/// twice.
bool forked(const std::function<bool()>& work) {
#ifdef __SANITIZE_THREAD__
  int left = 2;
#else
  int left = 0;
#endif
  while (true) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(work() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const bool hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    if (!hung || left-- == 0) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
}

TEST(Fork, AChildIsToldThatItHasNoStateAndDropsItsBatches) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 1000);
  auto pipeline =
      load(document(folder.file("a"), R"({"shuffle": {"buffer": 100}}, {"batch": {"size": 4}})", R"(, "epochs": null)"),
           {.threads = 3});
  std::vector<Batch> held;
  for (int i = 0; i < 3; ++i) held.push_back(**pipeline->next());
  std::atomic<bool> over{false};
  std::thread reader{[&] {  // its locks, and those of the workers, may be held when the child is made
    while (!over && pipeline->next().ok()) continue;
  }};
  const auto is_told = [](const Result<Json>& state) {
    return !state.ok() && state.error().code() == Code::state &&
           state.error().text().find("before fork()") != std::string::npos;
  };
  for (int i = 0; i < tests::how_much(200, 50, 10); ++i) {
    ASSERT_TRUE(forked([&] {
      const bool told = is_told(pipeline->state()) && is_told(pipeline->state(held.front()));
      held.clear();
      return told;
    }));
  }
  over = true;
  reader.join();
  EXPECT_TRUE(pipeline->state().ok());
}

}  // namespace
}  // namespace forebay
