// SPDX-License-Identifier: Apache-2.0
// Queues with many threads. The build with ThreadSanitizer runs this file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <sys/wait.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "tests/queues/queue_elements.h"

namespace forebay {
namespace {

using tests::element;
using tests::now;
using tests::number_of;
using tests::numbers_of;
using tests::queue_of;
using tests::rows;
using Found = TakenElements::Got;

Queue number_queue(QueueKind kind, std::int64_t capacity, std::int64_t floor = 0) {
  return queue_of({.kind = kind,
                   .components = {{.name = "x", .dtype = DType::int64}},
                   .capacity = capacity,
                   .min_after_dequeue = floor});
}

/// Waits until so many calls wait in the queue.
void until_waiting(const Queue& queue, std::int64_t enqueues, std::int64_t dequeues) {
  while (queue.sizes().waiting_enqueues != enqueues || queue.sizes().waiting_dequeues != dequeues)
    std::this_thread::yield();
}

TEST(QueueWait, ManyOfAPriorityQueueAreTheSmallestAlthoughTheyComeWhileTheCallWaits) {
  for (const std::int64_t capacity : {-1, 5, 2}) {
    Queue queue = number_queue(QueueKind::priority, capacity);
    std::vector<std::int64_t> got;
    std::thread waiting{[&] { got = numbers_of(queue.dequeue_many(4)); }};
    until_waiting(queue, 0, 1);
    std::thread giving{[&] {
      for (const std::int64_t number : {3, 1, 2, 0}) EXPECT_TRUE(*queue.enqueue(element(number)));
    }};
    giving.join();
    waiting.join();
    EXPECT_EQ(got, (std::vector<std::int64_t>{0, 1, 2, 3})) << capacity;
  }
}

class QueueKinds : public testing::TestWithParam<QueueKind> {};

TEST_P(QueueKinds, ManyProducersAndConsumersMoveEveryElementOnce) {
  constexpr std::int64_t producers = 32, consumers = 100, each = 60;
  Queue queue = number_queue(GetParam(), 7, GetParam() == QueueKind::random_shuffle ? 3 : 0);
  std::mutex mutex;
  std::multiset<std::int64_t> seen;
  std::vector<std::thread> giving, taking;
  for (std::int64_t i = 0; i < producers; ++i) {
    giving.emplace_back([&, i] {
      for (std::int64_t k = 0; k < each; k += 4) {
        const std::int64_t first = i * each + k;
        EXPECT_TRUE(*queue.enqueue(element(first)));
        EXPECT_EQ(*queue.enqueue_many(rows({first + 1, first + 2, first + 3})), 3);
      }
    });
  }
  for (std::int64_t i = 0; i < consumers; ++i) {
    taking.emplace_back([&, i] {
      while (true) {
        auto taken = i % 2 == 0 ? queue.dequeue_up_to(1 + i % 9) : queue.dequeue();
        ASSERT_TRUE(taken.ok());
        if (taken->got == Found::end) return;
        const std::lock_guard lock{mutex};
        for (const std::int64_t value : numbers_of(taken)) seen.insert(value);
      }
    });
  }
  for (std::thread& thread : giving) thread.join();
  queue.close();
  for (std::thread& thread : taking) thread.join();
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(producers * each));
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), seen.size());
  EXPECT_EQ(queue.sizes().enqueued, producers * each);
  EXPECT_EQ(queue.sizes().dequeued, producers * each);
}

INSTANTIATE_TEST_SUITE_P(All, QueueKinds,
                         testing::Values(QueueKind::fifo, QueueKind::random_shuffle, QueueKind::priority));

TEST(QueueThreads, CallsOfOneDirectionAreServedInTheOrderInWhichTheyCame) {
  Queue queue = number_queue(QueueKind::fifo, 9);
  std::vector<std::int64_t> many;
  std::int64_t one = -1;
  std::thread first{[&] { many = numbers_of(queue.dequeue_many(3)); }};
  until_waiting(queue, 0, 1);
  std::thread second{[&] { one = number_of(queue.dequeue()); }};
  until_waiting(queue, 0, 2);
  ASSERT_EQ(*queue.enqueue_many(rows({1, 2}), now), 2);
  EXPECT_EQ(queue.sizes().waiting_dequeues, 2);  // the first call has two and blocks the second
  ASSERT_EQ(*queue.enqueue_many(rows({3, 4}), now), 2);
  first.join();
  second.join();
  EXPECT_EQ(many, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(one, 4);
}

TEST(QueueThreads, APlainCloseComesAfterWaitingCallsAndACancelFailsThem) {
  Queue queue = number_queue(QueueKind::fifo, 1);
  ASSERT_TRUE(*queue.enqueue(element(1)));
  Result<bool> second = false, third = false;
  std::thread waits{[&] { second = queue.enqueue(element(2)); }};
  until_waiting(queue, 1, 0);
  queue.close();
  std::thread late{[&] { third = queue.enqueue(element(3)); }};
  until_waiting(queue, 2, 0);
  EXPECT_FALSE(queue.closed());
  EXPECT_EQ(number_of(queue.dequeue()), 1);
  waits.join();
  late.join();
  EXPECT_TRUE(queue.closed());
  EXPECT_TRUE(second.ok() && *second);
  EXPECT_EQ(third.error().code(), Code::cancelled);

  Queue other = number_queue(QueueKind::fifo, 1);
  ASSERT_TRUE(*other.enqueue(element(1)));
  std::thread fails{[&] { second = other.enqueue(element(2)); }};
  until_waiting(other, 1, 0);
  other.close(true);
  fails.join();
  EXPECT_EQ(second.error().code(), Code::cancelled);
  EXPECT_EQ(number_of(other.dequeue()), 1);
}

TEST(QueueThreads, AConsumerThatGivesUpLeavesItsElementsToTheNext) {
  struct GivesUp final : StopCheck {
    void look() const override {
      if (looks.fetch_add(1) >= 1) throw std::runtime_error{"given up"};
    }
    mutable std::atomic<int> looks = 0;
  };
  Queue queue = number_queue(QueueKind::fifo, 9);
  ASSERT_EQ(*queue.enqueue_many(rows({1, 2}), now), 2);
  const GivesUp check;
  EXPECT_THROW(static_cast<void>(queue.dequeue_many(3, Queue::forever, &check)), std::runtime_error);
  EXPECT_EQ(numbers_of(queue.dequeue_many(2, now)), (std::vector<std::int64_t>{1, 2}));
}

TEST(QueueThreads, InAChildOfForkEveryCallFailsAndNothingHangs) {
  Queue queue = number_queue(QueueKind::fifo, 9);
  ASSERT_TRUE(*queue.enqueue(element(1)));
  const pid_t child = fork();
  if (child == 0) {
    queue.close(true);
    const bool refused = !queue.enqueue(element(2)).ok() && !queue.dequeue().ok() && queue.sizes().elements == 0;
    _exit(refused ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(number_of(queue.dequeue()), 1);
}

}  // namespace
}  // namespace forebay
