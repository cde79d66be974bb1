// SPDX-License-Identifier: Apache-2.0
#include <forebay/queue.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

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
using ::testing::ElementsAre;

QueueOptions number_options(QueueKind kind, std::int64_t capacity, std::int64_t floor = 0) {
  return {.kind = kind,
          .name = "q",
          .components = {{.name = "x", .dtype = DType::int64}},
          .capacity = capacity,
          .min_after_dequeue = floor,
          .seed = 1};
}

TEST(Queue, ElementsComeOutInTheirOrderAndThenTheEnd) {
  Queue queue = queue_of(number_options(QueueKind::fifo, 3));
  ASSERT_TRUE(queue.enqueue(element(7)).ok());
  ASSERT_EQ(*queue.enqueue_many(rows({8, 9}), now), 2);
  queue.close();
  EXPECT_EQ(number_of(queue.dequeue()), 7);
  EXPECT_THAT(numbers_of(queue.dequeue_many(2)), ElementsAre(8, 9));
  const auto end = queue.dequeue();
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->got, Found::end);
}

TEST(Queue, RowsThatHaveNoRoomInTimeStayOutside) {
  Queue queue = queue_of(number_options(QueueKind::fifo, 3));
  EXPECT_EQ(*queue.enqueue_many(rows({1, 2, 3, 4, 5}), now), 3);
  EXPECT_FALSE(*queue.enqueue(element(6), now));
  EXPECT_EQ(queue.sizes().elements, 3);
}

TEST(Queue, ACallThatRunsOutOfTimePutsItsElementsBackInOrder) {
  Queue queue = queue_of(number_options(QueueKind::fifo, 9));
  ASSERT_EQ(*queue.enqueue_many(rows({1, 2}), now), 2);
  EXPECT_EQ(queue.dequeue_many(3, now)->got, Found::nothing_yet);
  ASSERT_EQ(*queue.enqueue_many(rows({3}), now), 1);
  EXPECT_THAT(numbers_of(queue.dequeue_many(3)), ElementsAre(1, 2, 3));
}

TEST(Queue, AClosedQueueKeepsWhatDoesNotFillABatchUnlessTheCallTakesLess) {
  Queue queue = queue_of(number_options(QueueKind::fifo, 9));
  ASSERT_EQ(*queue.enqueue_many(rows({1, 2}), now), 2);
  queue.close();
  const auto end = queue.dequeue_many(3);
  EXPECT_EQ(end->got, Found::end);
  EXPECT_EQ(end->left, 2);
  EXPECT_THAT(numbers_of(queue.dequeue_up_to(3)), ElementsAre(1, 2));
}

TEST(Queue, AfterTheElementsAClosedQueueGivesTheReasonThatCameFirst) {
  Queue queue = queue_of(number_options(QueueKind::fifo, 9));
  ASSERT_TRUE(queue.enqueue(element(1)).ok());
  queue.close(true, Error{Code::data, Detail::data_loss, "record 7 is corrupt"});
  queue.close(false, Error{Code::io, Detail::none, "later"});
  EXPECT_EQ(number_of(queue.dequeue()), 1);
  EXPECT_EQ(queue.dequeue().error().text(), "record 7 is corrupt");
  const auto refused = queue.enqueue(element(2));
  EXPECT_EQ(refused.error().code(), Code::cancelled);
  EXPECT_THAT(refused.error().text(), testing::HasSubstr("record 7 is corrupt"));
}

TEST(Queue, OfAQueueThatShufflesTheFloorStaysUntilItIsClosed) {
  Queue queue = queue_of(number_options(QueueKind::random_shuffle, 10, 4));
  ASSERT_EQ(*queue.enqueue_many(rows({0, 1, 2, 3}), now), 4);
  EXPECT_EQ(queue.dequeue(now)->got, Found::nothing_yet);
  ASSERT_TRUE(*queue.enqueue(element(4), now));
  std::vector<std::int64_t> all{number_of(queue.dequeue(now))};
  EXPECT_EQ(queue.dequeue(now)->got, Found::nothing_yet);
  queue.close();
  for (const std::int64_t value : numbers_of(queue.dequeue_many(4, now))) all.push_back(value);
  EXPECT_THAT(all, testing::UnorderedElementsAre(0, 1, 2, 3, 4));
}

TEST(Queue, TheSameSeedAndCallsGiveTheSameOrderAndAllOrdersCome) {
  const auto order = [](std::uint64_t seed) {
    QueueOptions options = number_options(QueueKind::random_shuffle, 9);
    options.seed = seed;
    Queue queue = queue_of(options);
    EXPECT_EQ(*queue.enqueue_many(rows({0, 1, 2}), now), 3);
    return numbers_of(queue.dequeue_many(3));
  };
  std::map<std::vector<std::int64_t>, int> seen;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    EXPECT_EQ(order(seed), order(seed));
    ++seen[order(seed)];
  }
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [which, count] : seen) EXPECT_NEAR(count, 100, 40);
}

TEST(Queue, APriorityQueueGivesTheSmallestFirstAndEqualOnesByAge) {
  QueueOptions options = number_options(QueueKind::priority, 9);
  options.components.push_back({.name = "y", .dtype = DType::int64});
  Queue queue = queue_of(options);
  QueueElement both = rows({3, 1, 3, 1});
  both.push_back(rows({30, 10, 31, 11}).front());
  ASSERT_EQ(*queue.enqueue_many(both, now), 4);
  EXPECT_EQ(queue.dequeue_many(9, now)->got, Found::nothing_yet);  // puts them back
  const auto all = queue.dequeue_many(4, now);
  ASSERT_TRUE(all.ok());
  EXPECT_THAT(all->tensors[0].as<std::int64_t>(), ElementsAre(1, 1, 3, 3));
  EXPECT_THAT(all->tensors[1].as<std::int64_t>(), ElementsAre(10, 11, 30, 31));
}

TEST(Queue, PaddingIsWithinTheBatchAndSingleElementsHaveNone) {
  QueueOptions options = number_options(QueueKind::padding_fifo, 9);
  options.components.front().shape = Shape{unknown_dim};
  Queue queue = queue_of(options);
  for (const std::vector<std::int64_t>& row : {std::vector<std::int64_t>{1, 2}, {}, {3, 4, 5}})
    ASSERT_TRUE(*queue.enqueue(rows(row), now));
  const auto two = queue.dequeue_many(2, now);
  EXPECT_EQ(two->tensors[0].shape, (Shape{2, 2}));
  EXPECT_THAT(two->tensors[0].as<std::int64_t>(), ElementsAre(1, 2, 0, 0));
  EXPECT_EQ(queue.dequeue(now)->tensors[0].shape, Shape{3});
}

TEST(Queue, ElementsThatDoNotFitAreRefusedAndNamed) {
  Queue queue = queue_of(number_options(QueueKind::fifo, 9));
  const auto wrong = queue.enqueue(rows({1, 2}), now);
  EXPECT_EQ(wrong.error().code(), Code::config);
  EXPECT_THAT(wrong.error().text(), testing::HasSubstr("queue 'q': component 'x': found int64[2], allowed is int64[]"));
  EXPECT_EQ(queue.enqueue({}, now).error().code(), Code::config);
  EXPECT_EQ(queue.dequeue_many(-1, now).error().code(), Code::config);
  EXPECT_EQ(queue.sizes().elements, 0);
}

TEST(Queue, AllFaultsOfTheOptionsComeTogether) {
  QueueOptions options = number_options(QueueKind::random_shuffle, 4, 4);
  options.components.front().shape = Shape{unknown_dim};
  const auto made = Queue::make(options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().faults().size(), 2U);
  EXPECT_FALSE(Queue::make(number_options(QueueKind::random_shuffle, 4, -1)).ok());
  EXPECT_FALSE(Queue::make(number_options(QueueKind::fifo, 4, 1)).ok());
  options.components.clear();
  EXPECT_FALSE(Queue::make(options).ok());
}

TEST(Queue, FullnessIsThatOfTheTwoFormulas) {
  Queue queue = queue_of(number_options(QueueKind::random_shuffle, 100, 20));
  std::vector<std::int64_t> many(10);
  ASSERT_EQ(*queue.enqueue_many(rows(many), now), 10);
  EXPECT_EQ(queue.sizes().fill_over_min, 0);
  many.resize(50);
  ASSERT_EQ(*queue.enqueue_many(rows(many), now), 50);
  EXPECT_EQ(queue.sizes().fill_ratio, 0.6);
  EXPECT_EQ(queue.sizes().fill_over_min, 0.5);
}

TEST(Queue, ABatchThatNoMemoryHoldsIsAnErrorAndItsElementsStay) {
  QueueOptions options = number_options(QueueKind::padding_fifo, 9);
  options.components.front().shape = Shape{unknown_dim, unknown_dim};
  Queue queue = queue_of(options);
  std::vector<std::int64_t> long_row(std::size_t{1} << 20);
  for (const Shape& shape : {Shape{1 << 20, 1}, Shape{1, 1 << 20}}) {
    Tensor tensor = rows(long_row).front();
    tensor.shape = shape;
    ASSERT_TRUE(*queue.enqueue({tensor}, now));
  }
  // 2^41 numbers: refused before memory is asked for.
  const auto batch = queue.dequeue_many(2, now);
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().detail(), Detail::resource_exhausted);
  EXPECT_EQ(queue.sizes().elements, 2);
  EXPECT_EQ(queue.dequeue(now)->tensors[0].shape, (Shape{1 << 20, 1}));
}

}  // namespace
}  // namespace forebay
