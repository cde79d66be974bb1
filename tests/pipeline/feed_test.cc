// SPDX-License-Identifier: Apache-2.0
// Runs over rows that the program gives while they go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include <forebay/forebay.h>

#include "engine/program/plan_access.h"
#include "engine/run/scheduler.h"
#include "tests/engine/order/stream_files.h"
#include "tests/support/how_much.h"

namespace forebay {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;
using ::testing::HasSubstr;
using Values = std::vector<std::int64_t>;
using Clock = std::chrono::steady_clock;

Schema one_number() {
  Schema schema;
  schema.put({.name = "n", .dtype = DType::int64, .shape = {}});
  return schema;
}

std::shared_ptr<const RowSource> rows_with(const Values& values) {
  return *array_rows({{.name = "n", .dtype = DType::int64, .shape = {std::ssize(values)}, .data = values.data()}},
                     nullptr);
}

Json feed_document(const std::string& steps, const std::string& rest = "") {
  return testing::parse(R"({"source": {"feed": {"bind": "in"}}, "steps": [)" + steps + "]" + rest + "}");
}

Loader start(const Feed& feed, const std::string& steps, std::int64_t threads = 2) {
  auto loader = load(feed_document(steps), {.threads = threads}, ".", {{"in", feed.source()}});
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  return *std::move(loader);
}

/// The numbers of all batches; the error that ends the run is in `error`.
Values all_of(Loader& loader, std::string* error = nullptr) {
  Values out;
  for (Batch& batch : loader.batches()) {
    const auto n = batch.tensor("n").as<std::int64_t>();
    out.insert(out.end(), n.begin(), n.begin() + batch.valid_rows());
  }
  if (error != nullptr) *error = loader.status().ok() ? "" : loader.status().error().text();
  return out;
}

/// Puts numbers one by one, and closes the feed after the last of two producers.
class Producers {
 public:
  Producers(Feed feed, std::int64_t each) {
    for (std::int64_t producer = 0; producer < 2; ++producer) {
      threads_.emplace_back([feed, each, producer]() mutable {
        for (std::int64_t i = 0; i < each; ++i) {
          const Values value{producer * each + i};
          const auto put = feed.put(*rows_with(value), Seconds{20});
          EXPECT_TRUE(put.ok() && *put);
        }
      });
    }
    closer_ = std::thread{[this, feed]() mutable {
      for (std::thread& thread : threads_) thread.join();
      feed.close();
    }};
  }
  ~Producers() { closer_.join(); }

 private:
  std::vector<std::thread> threads_;
  std::thread closer_;
};

TEST(FeedRun, GivesTheRowsOfTwoProducersEachInItsOrder) {
  for (const std::int64_t threads : {1, 8}) {
    Feed feed = *Feed::make(one_number(), 50);
    Loader loader = start(feed, R"({"batch": {"size": 64}})", threads);
    const Producers producers{feed, 2000};
    Values got = all_of(loader);
    for (const std::int64_t producer : {0, 1}) {
      Values own, expected(2000);
      std::copy_if(got.begin(), got.end(), std::back_inserter(own),
                   [&](std::int64_t n) { return n / 2000 == producer; });
      std::iota(expected.begin(), expected.end(), producer * 2000);
      EXPECT_EQ(own, expected);
    }
    EXPECT_EQ(got.size(), 4000U);
  }
}

TEST(FeedRun, GoesThroughAShuffleBuffer) {
  Feed feed = *Feed::make(one_number(), 100);
  Loader loader = start(feed, R"({"shuffle": {"buffer": 300}}, {"batch": {"size": 64}})");
  const Producers producers{feed, 1000};
  Values got = all_of(loader);
  Values expected(2000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_NE(got, expected);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, expected);
}

TEST(FeedRun, AFullBatchIsDeliveredWhileTheFeedIsOpen) {
  for (const char* const boundary : {"straddle", "hard"}) {
    Feed feed = *Feed::make(one_number());
    const Json document =
        feed_document(R"({"batch": {"size": 2}})", R"(, "epoch_boundary": ")" + std::string{boundary} + "\"");
    Loader loader = *load(document, {.threads = 2}, ".", {{"in", feed.source()}});
    for (std::int64_t round = 0; round < 50; ++round) {
      const Values values{round, -round};
      ASSERT_TRUE(*feed.put(*rows_with(values), Seconds{1}));
      bool timed_out = false;
      auto batch = loader.next_within(Seconds{20}, timed_out);
      ASSERT_TRUE(batch.ok() && *batch) << boundary;
      EXPECT_THAT((*batch)->tensor("n").as<std::int64_t>(), ::testing::ElementsAreArray(values));
      EXPECT_EQ((*batch)->key(0), "feed:" + std::to_string(2 * round));
      const auto state = loader.state(**batch);
      ASSERT_FALSE(state.ok());
      EXPECT_THAT(state.error().text(), HasSubstr("given by the program and cannot be read again"));
    }
  }
}

TEST(FeedRun, AnEmptyFeedHoldsNobodyUp) {
  for (const std::int64_t threads : {1, 4}) {
    Feed feed = *Feed::make(one_number());
    Loader loader = start(feed, R"({"batch": {"size": 2}})", threads);
    const Values one{1};
    ASSERT_TRUE(*feed.put(*rows_with(one), Seconds{1}));  // half a batch
    for (int i = 0; i < 3; ++i) {
      bool timed_out = false;
      const auto before = Clock::now();
      ASSERT_TRUE(loader.next_within(Milliseconds{50}, timed_out).ok());
      EXPECT_TRUE(timed_out);
      EXPECT_LT(Clock::now() - before, Seconds{1});
    }
    EXPECT_THAT(loader.stats().waiting, HasSubstr("the order is waiting for rows that the program gives"));
    const auto before = Clock::now();
    loader.close();
    EXPECT_LT(Clock::now() - before, Seconds{2});
    EXPECT_TRUE(feed.closed()) << "nobody reads it any more";
    EXPECT_EQ(feed.put(*rows_with(one), Seconds{1}).error().code(), Code::cancelled);
  }
}

TEST(FeedRun, IsNotTakenForAStuckRun) {
  Feed feed = *Feed::make(one_number());
  const auto plan = Plan::make(feed_document(R"({"batch": {"size": 2}})"), ".", {{"in", feed.source()}});
  engine::Scheduler scheduler{engine::share_program(*plan), {.threads = 2, .memory = 1 << 26}, {}, Milliseconds{20}};
  bool timed_out = false;
  EXPECT_TRUE(scheduler.next(Milliseconds{300}, timed_out).ok());
  EXPECT_TRUE(timed_out);
}

TEST(FeedRun, CloseEndsAConsumerAndAProducerThatWait) {
  Feed feed = *Feed::make(one_number(), 1);
  Loader loader = start(feed, R"({"batch": {"size": 1000}})");
  std::thread producer{[feed]() mutable {
    const Values one{1};
    while (true) {
      const auto put = feed.put(*rows_with(one), Seconds{20});
      if (!put.ok()) return;
    }
  }};
  std::thread closer{[&] {
    std::this_thread::sleep_for(Milliseconds{100});
    loader.close();
  }};
  const auto before = Clock::now();
  while (true) {
    auto batch = loader.next();
    if (!batch.ok()) {
      EXPECT_EQ(batch.error().code(), Code::cancelled);
      break;
    }
  }
  closer.join();
  producer.join();
  EXPECT_LT(Clock::now() - before, Seconds{2});
}

TEST(FeedRun, AnErrorComesAfterTheRowsBeforeIt) {
  Feed feed = *Feed::make(one_number());
  const Values values{1, 2, 3};
  ASSERT_TRUE(*feed.put(*rows_with(values), Seconds{1}));
  feed.fail(Error{Code::data, Detail::data_loss, "the sensor is gone"});
  Loader loader = start(feed, R"({"batch": {"size": 1}})");
  std::string error;
  EXPECT_EQ(all_of(loader, &error), values);
  EXPECT_THAT(error, HasSubstr("feed: the sensor is gone"));
  EXPECT_THAT(loader.next().error().text(), HasSubstr("the sensor is gone"));
}

TEST(FeedRun, TakesRowsOfDifferentLength) {
  Schema schema;
  schema.put({.name = "ids", .dtype = DType::int32, .shape = {unknown_dim}, .delivery = Delivery::padded});
  schema.put({.name = "s", .dtype = DType::string, .shape = {}});
  Feed feed = *Feed::make(schema);
  const std::vector<std::int32_t> ids{1, 2, 3};
  for (const std::int64_t length : {2, 0, 3}) {
    ASSERT_TRUE(*feed.put(
        *(*array_rows({{.name = "s", .dtype = DType::string, .shape = {1}, .data = "abc", .byte_splits = {0, length}},
                       {.name = "ids", .dtype = DType::int32, .shape = {1, length}, .data = ids.data()}},
                      nullptr)),
        Seconds{1}));
  }
  feed.close();
  Loader loader = start(feed, R"({"batch": {"size": 4}})");
  auto batch = loader.next();
  ASSERT_TRUE(batch.ok() && *batch);
  EXPECT_THAT((*batch)->tensor("ids").as<std::int32_t>(), ::testing::ElementsAre(1, 2, 0, 0, 0, 0, 1, 2, 3));
  EXPECT_EQ((*batch)->tensor("s").string(2), "abc");
}

TEST(FeedRun, WhatCannotWorkIsRefused) {
  Feed feed = *Feed::make(one_number());
  const Bindings bindings{{"in", feed.source()}};
  const auto fault = [&](const std::string& steps, const std::string& rest) {
    return Plan::make(feed_document(steps, rest), ".", bindings).error().text();
  };
  const std::string batch = R"({"batch": {"size": 2}})";
  EXPECT_THAT(fault(batch, R"(, "epochs": 2)"),
              HasSubstr("/epochs: the rows of 'feed' can be read once, so 'epochs' must be 1"));
  EXPECT_THAT(fault(R"({"shuffle": {"global": true}}, )" + batch, ""),
              HasSubstr("cannot be reached in any order; give 'shuffle' a buffer"));
  EXPECT_THAT(Plan::make(testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [{"batch": {"size": 2}}]})"),
                         ".", bindings)
                  .error()
                  .text(),
              HasSubstr("'in' is bound to rows that come one after the other, and this source takes a dict of arrays"));
  Loader loader = start(feed, batch);
  EXPECT_THAT(loader.state().error().text(), HasSubstr("cannot be read again, so this run has no state"));
  const Values one{1};
  EXPECT_THAT(
      feed.put(*(*array_rows({{.name = "m", .dtype = DType::int64, .shape = {1}, .data = one.data()}}, nullptr)),
               Seconds{1})
          .error()
          .text(),
      HasSubstr("rows do not fit the feed: column 'n' is missing"));
  EXPECT_THAT(
      feed.put(*(*array_rows({{.name = "n", .dtype = DType::int64, .shape = {1, 1}, .data = one.data()}}, nullptr)),
               Seconds{1})
          .error()
          .text(),
      HasSubstr("column 'n' is int64[1], expected int64[]"));
  EXPECT_FALSE(Feed::make(Schema{}).ok());
  EXPECT_FALSE(Feed::make(one_number(), 0).ok());
}

TEST(FeedRun, OneRunReadsAFeed) {
  Feed feed = *Feed::make(one_number());
  const Values one{1};
  ASSERT_TRUE(*feed.put(*rows_with(one), Seconds{1}));
  feed.close();
  Loader first = start(feed, R"({"batch": {"size": 1}})");
  EXPECT_EQ(all_of(first), one);
  Loader second = start(feed, R"({"batch": {"size": 1}})");
  std::string error;
  EXPECT_EQ(all_of(second, &error), Values{});
  EXPECT_THAT(error, HasSubstr("a feed is read once, by one run"));
}

TEST(FeedRun, APutMayWaitForEver) {
  Feed feed = *Feed::make(one_number(), 1);
  const Values one{1}, two{2};
  ASSERT_TRUE(*feed.put(*rows_with(one), Seconds{1}));
  std::thread producer{[&] {
    EXPECT_TRUE(*feed.put(*rows_with(two), Milliseconds::max()));
    feed.close();
  }};
  std::this_thread::sleep_for(Milliseconds{50});
  Loader loader = start(feed, R"({"batch": {"size": 1}})");
  EXPECT_EQ(all_of(loader), (Values{1, 2}));
  producer.join();
}

TEST(FeedRun, RowsMayHaveSizesThatTheFeedDoesNotKnow) {
  Schema schema, given;
  schema.put({.name = "ids", .dtype = DType::int32, .shape = {unknown_dim, unknown_dim}, .delivery = Delivery::padded});
  given.put({.name = "ids", .dtype = DType::int32, .shape = {unknown_dim, 2}, .delivery = Delivery::padded});
  Feed feed = *Feed::make(schema);
  const std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> splits{0, 2, 6}, dims{1, 2};
  auto block = std::make_shared<RowBlock>();
  block->rows = 2;
  block->columns.push_back(
      {.data = reinterpret_cast<const std::byte*>(ids.data()), .row_splits = splits.data(), .dims = dims.data()});
  ASSERT_TRUE(*feed.put({.schema = given, .parts = {{.name = "in", .rows = block}}}, Seconds{1}));
  feed.close();
  Loader loader = start(feed, R"({"batch": {"size": 2}})");
  auto batch = loader.next();
  ASSERT_TRUE(batch.ok() && *batch);
  EXPECT_EQ((*batch)->tensor("ids").shape.text(), "[2,2,2]");
  EXPECT_THAT((*batch)->tensor("ids").as<std::int32_t>(), ::testing::ElementsAre(1, 2, 0, 0, 3, 4, 5, 6));
}

TEST(FeedRun, RowsThatDoNotFitMemoryEndTheRunAndEveryWait) {
  if (tests::sanitized) return;  // a sanitizer ends the process when so much memory is asked for
  const auto huge = [](const std::int64_t& value) {
    return *array_rows(
        {{.name = "n", .dtype = DType::int64, .shape = {std::int64_t{1} << 45}, .data = &value, .strides = {0}}},
        nullptr);
  };
  const std::int64_t value = 1;
  Feed feed = *Feed::make(one_number());
  Loader loader = start(feed, R"({"batch": {"size": 1}})");
  std::thread producer{[&] {
    std::this_thread::sleep_for(Milliseconds{100});
    EXPECT_THROW(static_cast<void>(feed.put(*huge(value), Seconds{1})), std::bad_alloc);
  }};
  bool timed_out = false;
  const auto batch = loader.next_within(Seconds{10}, timed_out);
  producer.join();
  ASSERT_FALSE(batch.ok());
  EXPECT_THAT(batch.error().text(), HasSubstr("no memory for the rows of a feed"));
}

TEST(FeedRun, TakesOnlyRowsThatAreInMemory) {
  Feed feed = *Feed::make(one_number()), other = *Feed::make(one_number());
  EXPECT_THAT(feed.put(*other.source(), Seconds{1}).error().text(),
              HasSubstr("rows do not fit the feed: part 'feed' has no rows in memory"));
}

/// A part whose reader gives one block again and again.
class SameBlockReader final : public PartReader {
 public:
  explicit SameBlockReader(std::shared_ptr<const RowBlock> block) : block_{std::move(block)} {}
  Result<Got> read(std::shared_ptr<const RowBlock>& out) override {
    out = block_;
    return Got::rows;
  }

 private:
  std::shared_ptr<const RowBlock> block_;
};

TEST(RowReaders, ThatBreakTheirContractEndTheRun) {
  const auto error_of = [](std::function<Result<std::unique_ptr<PartReader>>(ReadContext)> open) {
    auto source = std::make_shared<RowSource>();
    source->schema = one_number();
    source->parts.push_back({.name = "part", .open = std::move(open)});
    auto loader = load(feed_document(R"({"batch": {"size": 1}})"), {.threads = 1}, ".", {{"in", source}});
    return loader.ok() ? loader->next().error().text() : loader.error().text();
  };
  const auto of_block = [&](std::shared_ptr<const RowBlock> block) {
    return error_of([=](ReadContext) { return std::unique_ptr<PartReader>{std::make_unique<SameBlockReader>(block)}; });
  };
  const std::int64_t value = 1;
  const RowColumn column{.data = reinterpret_cast<const std::byte*>(&value)};
  const std::string wanted = ", expected 1 to 4294967295 rows in 1 columns";
  EXPECT_THAT(of_block(std::make_shared<RowBlock>(RowBlock{.rows = 0, .columns = {column}})),
              HasSubstr("part: the reader gave a block of 0 rows in 1 columns" + wanted));
  EXPECT_THAT(of_block(std::make_shared<RowBlock>(RowBlock{.rows = std::int64_t{1} << 32, .columns = {column}})),
              HasSubstr("part: the reader gave a block of 4294967296 rows in 1 columns" + wanted));
  EXPECT_THAT(of_block(std::make_shared<RowBlock>(RowBlock{.rows = 1})),
              HasSubstr("part: the reader gave a block of 1 rows in 0 columns" + wanted));
  EXPECT_THAT(of_block(nullptr), HasSubstr("part: the reader gave no block"));
  EXPECT_THAT(error_of([](ReadContext) { return std::unique_ptr<PartReader>{}; }),
              HasSubstr("part: the part has no reader"));
  EXPECT_THAT(error_of({}), HasSubstr("part: the part has no reader"));
}

TEST(RowReaders, PartsInMemoryMayStandBesideThem) {
  Feed feed = *Feed::make(one_number());
  const Values first{1, 2, 3}, second{4, 5};
  ASSERT_TRUE(*feed.put(*rows_with(second), Seconds{1}));
  feed.close();
  auto source = std::make_shared<RowSource>(*rows_with(first));
  source->parts.push_back(feed.source()->parts.front());
  auto loader = load(feed_document(R"({"batch": {"size": 2, "remainder": "keep"}})"), {}, ".", {{"in", source}});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  EXPECT_EQ(all_of(*loader), (Values{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace forebay
