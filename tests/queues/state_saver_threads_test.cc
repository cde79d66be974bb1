// SPDX-License-Identifier: Apache-2.0
// The state saver with many threads. The build with ThreadSanitizer runs this file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/queues/saver_examples.h"

namespace forebay {
namespace {

using tests::insert_frames;
using tests::keys_of;
using tests::one_sequence;
using tests::save_more;
using tests::saver_of;
using tests::take_now;
using tests::values_of;
using Got = TakenSegments::Got;
using Milliseconds = std::chrono::milliseconds;

/// The segments that consumers got, and whether each had the state of the one before.
class Log {
 public:
  void add(const SegmentBatch& batch) {
    const std::lock_guard lock{mutex_};
    const auto x = values_of(*batch.sequences("x"));
    const auto h = values_of(*batch.state("h"));
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto at = static_cast<std::size_t>(row);
      const std::string key = batch.key(row);
      const std::int32_t number = values_of(batch.sequence())[at];
      wrong_ += h[at] != number || next_[key.substr(key.find(':'))]++ != number || x[2 * at] != number * 2;
      ++segments_;
    }
  }
  std::int64_t segments_ = 0, wrong_ = 0;

 private:
  std::mutex mutex_;
  std::map<std::string, std::int32_t> next_;  // by example: the segment that comes next
};

/// Takes batches to the end and counts in the state.
void consume(StateSaver saver, Log& log) {
  while (true) {
    auto taken = saver.take();
    ASSERT_TRUE(taken.ok()) << taken.error().text();
    if (taken->got == Got::end) return;
    log.add(taken->batch);
    ASSERT_TRUE(save_more(taken->batch).ok());
  }
}

TEST(StateSaverThreads, ManyProducersAndConsumersGetEverySegmentOnceInOrderWithItsState) {
  constexpr int producers = 32, consumers = 100, each = 6;
  StateSaverOptions options = one_sequence(4, 2);
  options.capacity = 40;
  options.allow_small_batch = options.pad = true;
  StateSaver saver = saver_of(options);
  Log log;
  std::atomic<std::int64_t> inserted = 0;
  std::vector<std::thread> taking, giving;
  for (int i = 0; i < consumers; ++i) taking.emplace_back([&] { consume(saver, log); });
  for (int i = 0; i < producers; ++i) {
    giving.emplace_back([&, i] {
      for (int k = 0; k < each; ++k) {
        const std::int64_t frames = 1 + (i * each + k) % 9;
        const auto added = insert_frames(saver, std::to_string(i) + "/" + std::to_string(k), frames);
        EXPECT_TRUE(added.ok() && *added);
        inserted += (frames + 1) / 2;
      }
    });
  }
  for (std::thread& thread : giving) thread.join();
  ASSERT_TRUE(saver.close().ok());
  for (std::thread& thread : taking) thread.join();
  EXPECT_EQ(log.segments_, inserted);
  EXPECT_EQ(log.wrong_, 0);
  EXPECT_EQ(saver.sizes().live_examples, 0);
  EXPECT_EQ(saver.sizes().undelivered_segments, 0);
}

TEST(StateSaverThreads, StatesOfABatchMayBeSavedByDifferentThreads) {
  StateSaverOptions options = one_sequence(1, 1);
  options.states.push_back({.name = "c", .dtype = DType::int32, .shape = {1}});
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "a", 50).ok());
  for (int step = 0; step < 50; ++step) {
    auto taken = saver.take();
    ASSERT_TRUE(taken.ok() && taken->got == Got::batch);
    const SegmentBatch batch = std::move(taken->batch);
    EXPECT_EQ(values_of(*batch.state("c")), std::vector<std::int32_t>{step * 2});
    std::thread other{[&batch] {
      std::vector<std::int32_t> c{values_of(*batch.state("c"))[0] + 2};
      EXPECT_TRUE(batch.save_state("c", tests::tensor_of(c, {1, 1})).ok());
    }};
    EXPECT_TRUE(save_more(batch).ok());
    other.join();
  }
}

TEST(StateSaverThreads, OneOfTwoSavesOfAStateIsRefused) {
  for (int round = 0; round < 50; ++round) {
    StateSaver saver = saver_of(one_sequence(1, 1));
    ASSERT_TRUE(insert_frames(saver, "a", 2).ok());
    const auto batch = take_now(saver);
    ASSERT_TRUE(batch);
    std::atomic<int> saved = 0;
    std::thread other{[&] { saved += save_more(*batch).ok(); }};
    saved += save_more(*batch).ok();
    other.join();
    EXPECT_EQ(saved, 1);
  }
}

TEST(StateSaverThreads, ATakeThatWaitsGoesOnWithASaveAndEndsWithTheBatchThatHeldIt) {
  StateSaverOptions options = one_sequence(1, 1);
  options.allow_small_batch = true;
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "a", 3).ok());
  ASSERT_TRUE(saver.close().ok());
  std::optional<SegmentBatch> held = take_now(saver);
  std::optional<SegmentBatch> second;
  std::thread taker{[&] {
    auto taken = saver.take();
    EXPECT_TRUE(taken.ok() && taken->got == Got::batch);
    second = std::move(taken->batch);
  }};
  std::this_thread::sleep_for(Milliseconds{5});
  ASSERT_TRUE(save_more(*held).ok());
  taker.join();
  held.reset();
  std::thread last{[&] {
    const auto taken = saver.take();
    EXPECT_TRUE(taken.ok() && taken->got == Got::end);
  }};
  std::this_thread::sleep_for(Milliseconds{5});
  second.reset();
  last.join();
}

TEST(StateSaverThreads, CloseEndsTheWaitsOfProducersAndConsumers) {
  StateSaverOptions options = one_sequence(1, 1);
  options.capacity = 1;
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "a", 1).ok());
  std::atomic<int> refused = 0;
  std::thread producer{[&] { refused += insert_frames(saver, "b", 1).error().code() == Code::cancelled; }};
  std::this_thread::sleep_for(Milliseconds{5});
  ASSERT_TRUE(saver.close().ok());
  producer.join();
  EXPECT_EQ(refused, 1);
  StateSaver empty = saver_of(one_sequence(1, 1));
  std::thread consumer{[&] { EXPECT_EQ(empty.take()->got, Got::end); }};
  std::this_thread::sleep_for(Milliseconds{5});
  ASSERT_TRUE(empty.close(true).ok());
  consumer.join();
}

TEST(StateSaverThreads, ATakeThatWaitedBeforeABatchWasTakenAlsoNamesItsExamples) {
  StateSaverOptions options = one_sequence(1, 1);
  options.save_timeout = Milliseconds{30};
  StateSaver saver = saver_of(options);
  std::string text;
  std::thread waits{[&] { text = saver.take(2).error().text(); }};
  std::this_thread::sleep_for(Milliseconds{5});
  ASSERT_TRUE(insert_frames(saver, "held", 2).ok());
  const auto held = take_now(saver);  // nothing wakes the other thread any more
  waits.join();
  EXPECT_THAT(text, ::testing::HasSubstr("a batch has the examples 'held', and its states 'h' are not saved"));
}

/// Counts polls and ends the wait at the second one.
class EndsWait final : public StopCheck {
 public:
  struct Ended {};
  void look() const override {
    if (++polls == 2) throw Ended{};
  }
  mutable std::atomic<int> polls = 0;
};

TEST(StateSaverThreads, AWaitIsEndedByItsCheckAndNothingIsTaken) {
  StateSaverOptions options = one_sequence(2, 1);
  options.capacity = 2;
  StateSaver saver = saver_of(options);
  ASSERT_TRUE(insert_frames(saver, "a", 1).ok());
  EndsWait check;
  EXPECT_THROW(static_cast<void>(saver.take({}, StateSaver::forever, &check)), EndsWait::Ended);
  EXPECT_EQ(saver.sizes().ready_segments, 1);
  ASSERT_TRUE(insert_frames(saver, "b", 1).ok());
  EndsWait other;
  std::vector<std::int32_t> frame{1};
  const SaverExample third{.key = "c", .length = 1, .sequences = {tests::tensor_of(frame, {1})}};
  EXPECT_THROW(static_cast<void>(saver.insert(third, StateSaver::forever, &other)), EndsWait::Ended);
  EXPECT_EQ(keys_of(*take_now(saver)).size(), 2U);
}

}  // namespace
}  // namespace forebay
