// SPDX-License-Identifier: Apache-2.0
// Tests of the report of a run whose next batch is late.
#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/plugin.h>

#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"
#include "tests/engine/run/scheduler_peer.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

struct NoOptions {};
std::atomic<bool> held{false};
std::atomic<std::thread::id> decides;

/// An order that comes no further while `held`, and tells who decides it.
class HeldOrder final : public Handles {
 public:
  explicit HeldOrder(OrderContext context) : context_{std::move(context)} {}
  void begin(std::int64_t epoch) override { context_.upstream->begin(epoch); }
  Result<std::size_t> pull(std::span<Handle> out) override {
    held.wait(true);
    decides = std::this_thread::get_id();
    return context_.upstream->pull(out);
  }

 private:
  OrderContext context_;
};

void register_held() {
  static const bool done = [] {
    Registry::global().add(
        describe<OrderType, NoOptions>("test_held", "Comes no further while it is held.",
                                       [](const NoOptions&) -> Result<Ordering> {
                                         return Ordering{.make = [](OrderContext context) -> std::unique_ptr<Handles> {
                                           return std::make_unique<HeldOrder>(std::move(context));
                                         }};
                                       })
            .example({.options = "{}", .in = "[1]", .out = "[1]"}));
    return true;
  }();
  static_cast<void>(done);
}

Json document_over(const std::string& file, const char* more_steps) {
  return testing::parse(
      R"({"source": {"tfrecord": {"files": [")" + file +
      R"("]}}, "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []}}}}, "steps": [)" + more_steps +
      R"({"batch": {"size": 4}}]})");
}

TEST(Waiting, StatsSayWhatEachThreadIsAt) {
  register_held();
  const Folder folder;
  const std::string file = testing::write_examples(folder.file("a.tfrecord"), 0, 10);
  held = true;
  auto pipeline = load(document_over(file, R"({"test_held": {}}, )"), {.threads = 1});
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  EXPECT_EQ(pipeline->stats().waiting, "");
  std::string waiting;
  double seconds = 0;
  std::thread other{[&] {
    for (; waiting.find("decides") == std::string::npos || seconds < 0.1; std::this_thread::sleep_for(1ms)) {
      const Stats stats = pipeline->stats();
      waiting = stats.waiting;
      seconds = stats.waiting_seconds;
    }
    held = false;
    held.notify_all();
  }};
  auto batch = pipeline->next();
  other.join();
  EXPECT_TRUE(batch.ok() && *batch);
  EXPECT_THAT(
      waiting,
      MatchesRegex("batch 0 has been waited for [0-9]+\\.[0-9] s\\. (worker 1|worker 1 rests for [0-9]+\\.[0-9] s; the "
                   "consumer) "
                   "decides the order of batch 0 for [0-9]+\\.[0-9] s\\. 0 batches are being made, 0 tickets "
                   "wait, the order is being decided; 0\\.0 of .* MiB are in use"));
  EXPECT_EQ(pipeline->stats().waiting, "");
  EXPECT_EQ(pipeline->stats().waiting_seconds, 0);
}

TEST(Waiting, StagesThatWaitForEachOtherAreAnErrorThatNamesThem) {
  const Folder folder;
  const std::string file = testing::write_examples(folder.file("a.tfrecord"), 0, 10);
  const auto plan = Plan::make(document_over(file, ""));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  engine::Scheduler scheduler{
      engine::share_program(*plan), {.threads = 2, .memory = 64 << 20, .shard_count = 1}, {}, 200ms};
  engine::SchedulerPeer::take_baton(scheduler);
  const auto began = std::chrono::steady_clock::now();
  bool timed_out = false;
  const auto batch = scheduler.next(std::nullopt, timed_out);
  ASSERT_FALSE(batch.ok());
  EXPECT_GE(std::chrono::steady_clock::now() - began, 200ms);
  EXPECT_EQ(batch.error().detail(), Detail::failed_precondition);
  EXPECT_THAT(
      batch.error().text(),
      MatchesRegex(
          "the stages of this run wait for each other: batch 0 has been waited for [0-9]+\\.[0-9] s\\. worker 1 "
          "rests for [0-9]+\\.[0-9] s; worker 2 rests for [0-9]+\\.[0-9] s\\. 0 batches are being made, 0 "
          "tickets wait, the order is being decided; 0\\.0 of 64\\.0 MiB are in use"));
  const auto again = scheduler.next(100ms, timed_out);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().text(), batch.error().text());
  EXPECT_FALSE(timed_out);
}

TEST(Waiting, ARunWhoseConsumerComesLateIsNotStuck) {
  const Folder folder;
  const std::string file = testing::write_examples(folder.file("a.tfrecord"), 0, 8);
  const auto plan = Plan::make(document_over(file, ""));
  engine::Scheduler scheduler{
      engine::share_program(*plan), {.threads = 2, .memory = 64 << 20, .shard_count = 1}, {}, 1ms};
  bool timed_out = false;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(20ms);
    const auto batch = scheduler.next(std::nullopt, timed_out);
    ASSERT_TRUE(batch.ok()) << batch.error().text();
    EXPECT_EQ(*batch != nullptr, i < 2);
  }
}

TEST(Waiting, PatienceBeyondTheEndOfTheClockIsForEver) {
  const Folder folder;
  const std::string file = testing::write_examples(folder.file("a.tfrecord"), 0, 4);
  for (const std::chrono::milliseconds for_so_long :
       {std::chrono::milliseconds{std::chrono::hours{3'000'000}}, std::chrono::milliseconds::max() - 1ms}) {
    auto pipeline = load(document_over(file, ""), {.threads = 1});
    bool timed_out = false;
    const auto batch = pipeline->next_within(for_so_long, timed_out);
    EXPECT_TRUE(batch.ok() && *batch && !timed_out) << for_so_long.count();
  }
  auto pipeline = load(document_over(file, ""), {.threads = 1});
  bool timed_out = false;
  const auto batch = pipeline->next_within(std::chrono::milliseconds::min(), timed_out);
  EXPECT_TRUE(batch.ok() && !*batch && timed_out);
}

TEST(Waiting, ACallerThatIsBackAtOnceWorksInAWorkersPlaceUntilItStaysAway) {
  register_held();
  const Folder folder;
  const std::string file = testing::write_examples(folder.file("a.tfrecord"), 0, 1000);
  Json document = document_over(file, R"({"test_held": {}}, )");
  document.set("epochs", Json{});
  auto pipeline = load(document, {.threads = 1});
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  const auto me = std::this_thread::get_id();
  // A batch takes microseconds here, and a worker at work would decide about half of them.
  for (int in_a_row = 0; in_a_row < 200;) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    const auto batch = pipeline->next();
    ASSERT_TRUE(batch.ok() && *batch);
    in_a_row = decides.load() == me ? in_a_row + 1 : 0;
  }
  while (decides.load() == me) {  // the worker goes on alone
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace
}  // namespace forebay
