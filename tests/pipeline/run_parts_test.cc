// SPDX-License-Identifier: Apache-2.0
// A run with memory of its own, and with a function that gets each batch when it is made.
#include "engine/run/run_parts.h"

#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "engine/program/plan_access.h"
#include "engine/run/scheduler.h"
#include "tests/engine/order/stream_files.h"
#include "tests/support/counted_memory.h"

namespace forebay {
namespace {

using testing::document;
using testing::Folder;

const RunOptions run_options{.threads = 2, .memory = 64 << 20, .shard_count = 1};

class RunParts : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_parts(folder_, {300, 200, 100}, {.gzip = 0, .zlib = 1});
    auto plan = Plan::make(document(folder_.file("part-*"), R"({"shuffle": {"buffer": 50}}, {"batch": {"size": 32}})"));
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    plan_.emplace(*std::move(plan));
  }
  [[nodiscard]] std::unique_ptr<engine::Scheduler> start(engine::RunParts parts) const {
    return std::make_unique<engine::Scheduler>(engine::share_program(*plan_), run_options, engine::Position{},
                                               std::chrono::seconds{30}, std::move(parts));
  }
  /// The batches of a run, and the error that ended it.
  struct Out {
    std::vector<std::shared_ptr<const Batch::Content>> batches;
    std::optional<Error> error;
  };
  static Out all_of(engine::Scheduler& run) {
    Out out;
    bool timed_out = false;
    while (true) {
      auto batch = run.next(std::nullopt, timed_out);
      if (!batch.ok()) return out.error = batch.error(), out;
      if (!*batch) return out;
      out.batches.push_back(*batch);
    }
  }

  const Folder folder_;
  std::optional<Plan> plan_;
};

TEST_F(RunParts, AllMemoryOfARunComesFromTheAllocatorAndReturnsToIt) {
  const auto memory = std::make_shared<tests::CountedMemory>();
  auto run = start({.allocator = memory});
  Out out = all_of(*run);
  EXPECT_FALSE(out.error);
  EXPECT_EQ(out.batches.size(), 19U);
  EXPECT_GT(memory->taken(), 4);
  run.reset();
  EXPECT_GT(memory->held(), 0) << "batches outlive their run";
  out.batches.clear();
  EXPECT_EQ(memory->held(), 0);
}

TEST_F(RunParts, ALackOfMemoryIsAnErrorWhereverItComes) {
  const auto enough = std::make_shared<tests::CountedMemory>();
  const std::size_t batches = all_of(*start({.allocator = enough})).batches.size();
  std::size_t failed = 0;
  for (std::int64_t buffers = 0; buffers < enough->taken() + 2; ++buffers) {
    const auto memory = std::make_shared<tests::CountedMemory>(buffers);
    {
      auto run = start({.allocator = memory});
      const Out out = all_of(*run);
      if (out.error) {
        ++failed;
        EXPECT_EQ(out.error->code(), Code::io) << out.error->text();
        EXPECT_EQ(out.error->detail(), Detail::resource_exhausted) << out.error->text();
      } else {
        EXPECT_EQ(out.batches.size(), batches);
      }
    }
    EXPECT_EQ(memory->held(), 0) << buffers;
  }
  EXPECT_GE(failed, 3U);
}

TEST_F(RunParts, EachBatchIsHandedOverOnceBeforeItIsDelivered) {
  std::mutex mutex;
  std::map<std::int64_t, std::vector<const Batch::Content*>> seen;
  auto run = start({.finished = [&](const std::shared_ptr<const Batch::Content>& batch) -> Result<void> {
    const std::lock_guard lock{mutex};
    seen[batch->layout.number].push_back(batch.get());
    return {};
  }});
  bool timed_out = false;
  for (std::int64_t number = 0;; ++number) {
    const auto batch = run->next(std::nullopt, timed_out);
    ASSERT_TRUE(batch.ok());
    if (!*batch) break;
    const std::lock_guard lock{mutex};
    EXPECT_EQ(seen[number], std::vector<const Batch::Content*>{batch->get()});
  }
  EXPECT_EQ(seen.size(), 19U);
}

TEST_F(RunParts, AnErrorOfTheFunctionIsThatOfItsBatch) {
  for (const bool throws : {false, true}) {
    auto run = start({.finished = [&](const std::shared_ptr<const Batch::Content>& batch) -> Result<void> {
      if (batch->layout.number != 7) return {};
      if (throws) throw std::runtime_error{"the device is gone"};
      return Error{Code::io, "the device is gone"};
    }});
    const Out out = all_of(*run);
    EXPECT_EQ(out.batches.size(), 7U);
    ASSERT_TRUE(out.error);
    EXPECT_NE(out.error->text().find("the device is gone"), std::string::npos) << out.error->text();
  }
}

}  // namespace
}  // namespace forebay
