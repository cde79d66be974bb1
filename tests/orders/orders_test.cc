// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/handles.h"

namespace forebay::orders {
OrderType shuffle();
OrderType interleave();
OrderType repeat();
OrderType take();
OrderType skip();
OrderType filter();
}  // namespace forebay::orders

namespace forebay {
namespace {

using testing::drain;
using testing::first;
using testing::make_order;
using testing::NumberFiles;
using testing::Numbers;
using Order = std::vector<std::uint32_t>;

Json options(std::vector<Json::Member> members) { return Json::object(std::move(members)); }

std::unique_ptr<Handles> shuffled(std::int64_t buffer, std::uint32_t n, std::uint64_t seed = 1,
                                  std::size_t most = 1000) {
  auto order = make_order(orders::shuffle(), options({{"buffer", buffer}}), std::make_unique<Numbers>(first(n), most),
                          nullptr, seed);
  order->begin(0);
  return order;
}

TEST(Shuffle, DeliversEveryElementOnceInAnotherOrder) {
  Order order = drain(*shuffled(100, 1000));
  EXPECT_NE(order, first(1000));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, first(1000));
}

TEST(Shuffle, OrderDoesNotDependOnHowManyArePulledAtATime) {
  EXPECT_EQ(drain(*shuffled(50, 777, 1, 1000), 1), drain(*shuffled(50, 777, 1, 3), 64));
}

TEST(Shuffle, OrderChangesWithTheSeedAndWithTheEpoch) {
  auto order = shuffled(50, 200);
  const Order epoch_0 = drain(*order);
  order->begin(1);
  const Order epoch_1 = drain(*order);
  order->begin(0);
  EXPECT_EQ(drain(*order), epoch_0);
  EXPECT_NE(epoch_1, epoch_0);
  EXPECT_NE(drain(*shuffled(50, 200, 2)), epoch_0);
}

TEST(Shuffle, AnElementComesAtMostABufferTooEarly) {
  const Order order = drain(*shuffled(10, 500));
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_LT(order[i], i + 10) << i;
}

TEST(Shuffle, FirstElementIsUniformOverTheBuffer) {
  std::vector<int> times(8);
  for (std::uint64_t seed = 0; seed < 8000; ++seed) ++times[drain(*shuffled(8, 8, seed), 1).front()];
  double chi_square = 0;
  for (const int count : times) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 24.3);  // 7 degrees of freedom, p = 0.001
}

TEST(Shuffle, HandsBackWhatItHoldsWhenAPassIsBrokenOff) {
  NumberFiles files{{}};
  auto order =
      make_order(orders::shuffle(), options({{"buffer", 10}}), std::make_unique<Numbers>(first(100), 20), &files);
  order->begin(0);
  std::vector<Handle> out(5);
  ASSERT_TRUE(order->pull(out).ok());
  order->begin(1);
  EXPECT_EQ(files.dropped, 9U);  // 14 pulled from above, 5 delivered
}

TEST(Shuffle, PullsNoMoreThanItHoldsHoweverManyComeAtOnce) {
  for (const std::size_t most : {1, 3, 1000}) {
    auto upstream = std::make_unique<Numbers>(first(1000), most);
    Numbers& numbers = *upstream;
    auto order = make_order(orders::shuffle(), options({{"buffer", 4}}), std::move(upstream));
    order->begin(0);
    std::vector<Handle> out(12);
    ASSERT_EQ(*order->pull(out), 12U);
    EXPECT_EQ(numbers.given(), 15U) << most;
    ASSERT_EQ(*order->pull(std::span{out}.first(1)), 1U);
    EXPECT_EQ(numbers.given(), 16U) << most;
  }
}

Order interleaved(std::vector<std::vector<std::uint32_t>> files, std::int64_t cycle, std::int64_t block,
                  std::size_t chunk = 7) {
  const auto count = static_cast<std::uint32_t>(files.size());
  NumberFiles reader{std::move(files)};
  auto order = make_order(orders::interleave(), options({{"cycle", cycle}, {"block", block}}),
                          std::make_unique<Numbers>(first(count)), &reader);
  order->begin(0);
  return drain(*order, chunk);
}

const std::vector<std::vector<std::uint32_t>> uneven{{0, 1}, {100, 101, 102}, {200}, {300, 301}};

TEST(Interleave, FollowsTheRuleForEveryCycleAndBlock) {
  EXPECT_EQ(interleaved(uneven, 1, 1), (Order{0, 1, 100, 101, 102, 200, 300, 301}));
  EXPECT_EQ(interleaved(uneven, 2, 1), (Order{0, 100, 1, 101, 102, 200, 300, 301}));
  EXPECT_EQ(interleaved(uneven, 2, 2), (Order{0, 1, 100, 101, 102, 200, 300, 301}));
  EXPECT_EQ(interleaved(uneven, 3, 1), (Order{0, 100, 200, 1, 101, 102, 300, 301}));
  EXPECT_EQ(interleaved(uneven, 4, 2), (Order{0, 1, 100, 101, 200, 300, 301, 102}));
  EXPECT_EQ(interleaved(uneven, 8, 1), (Order{0, 100, 200, 300, 1, 101, 301, 102}));
}

TEST(Interleave, OrderDoesNotDependOnHowManyArePulledAtATime) {
  std::vector<std::vector<std::uint32_t>> files(9);
  for (std::uint32_t f = 0; f < 9; ++f) {
    for (std::uint32_t i = 0; i < 37 * f % 150; ++i) files[f].push_back(1000 * f + i);
  }
  EXPECT_EQ(interleaved(files, 4, 3, 1), interleaved(files, 4, 3, 100));
}

TEST(Interleave, AMillionSlotsForTwoFilesCostNothing) {
  EXPECT_EQ(interleaved({{0, 1}, {10}}, 1'000'000, 1), (Order{0, 10, 1}));
}

TEST(Interleave, ClosesAllFilesAndHandsBackWhatWasReadAheadWhenAPassIsBrokenOff) {
  NumberFiles reader{{{0, 1, 2, 3}, {10, 11, 12, 13}}};
  auto order = make_order(orders::interleave(), options({{"cycle", 2}}), std::make_unique<Numbers>(first(2)), &reader);
  order->begin(0);
  std::vector<Handle> out(3);
  ASSERT_TRUE(order->pull(out).ok());
  order->begin(1);
  EXPECT_EQ(std::make_pair(reader.dropped, reader.open_files()), std::make_pair(std::size_t{5}, std::size_t{0}));
}

/// Two files; the first is not ready for the first `refusals` questions.
class SlowFirstFile final : public NumberFiles {
 public:
  explicit SlowFirstFile(int refusals) : NumberFiles{{{0, 1, 2}, {100, 101, 102}}}, refusals_{refusals} {}
  bool ready(Stream stream) override { return stream != 0 || refusals_-- <= 0; }
  std::int64_t files_ahead() const override { return 0; }

 private:
  int refusals_;
};

constexpr int always = 1'000'000;

Order with_slow_first_file(int refusals, bool sloppy, bool deterministic) {
  SlowFirstFile reader{refusals};
  auto ordering = orders::interleave().bind(options({{"cycle", 2}, {"sloppy", sloppy}}));
  auto order = ordering->make(
      {.deterministic = deterministic, .upstream = std::make_unique<Numbers>(first(2)), .reader = &reader});
  order->begin(0);
  Order out = drain(*order);
  EXPECT_EQ(reader.open_files(), 0U);
  return out;
}

const Order in_turn{0, 100, 1, 101, 2, 102};

TEST(Interleave, SloppyPassesOverAFileThatIsNotReadyAndLosesNothing) {
  EXPECT_EQ(with_slow_first_file(always, true, false), (Order{100, 101, 102, 0, 1, 2}));
}

TEST(Interleave, SloppyComesBackToAFileOnceItIsReady) {
  Order order = with_slow_first_file(2, true, false);
  EXPECT_EQ(order, (Order{100, 101, 0, 102, 1, 2}));
}

TEST(Interleave, SloppyWaitsLikeAnyOtherWhenAllFilesAreReady) {
  EXPECT_EQ(with_slow_first_file(0, true, false), in_turn);
}

TEST(Interleave, WaitsForAFileThatIsNotReadyUnlessSloppyAndNotDeterministic) {
  EXPECT_EQ(with_slow_first_file(always, true, true), in_turn);
  EXPECT_EQ(with_slow_first_file(always, false, false), in_turn);
  EXPECT_EQ(with_slow_first_file(always, false, true), in_turn);
}

TEST(Repeat, GoesThroughEverythingThatOften) {
  auto order = make_order(orders::repeat(), options({{"count", 3}}), std::make_unique<Numbers>(first(2)));
  order->begin(0);
  EXPECT_EQ(drain(*order), (Order{0, 1, 0, 1, 0, 1}));
}

TEST(Repeat, MoreRoundsThanCanBeCountedAreNoLengthAndAnErrorInsteadOfAnEnd) {
  const auto bound = orders::repeat().bind(options({{"count", 1'000'000'000}}));
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->count(9'000'000'000), 9'000'000'000'000'000'000);
  EXPECT_EQ(bound->count(10'000'000'000), std::nullopt);
  auto order = make_order(orders::repeat(), options({{"count", 1'000'000'000}}), std::make_unique<Numbers>(first(2)));
  order->begin(10'000'000'000);
  std::array<Handle, 4> out;
  const auto pulled = order->pull(out);
  ASSERT_FALSE(pulled.ok());
  EXPECT_THAT(pulled.error().message(), ::testing::StartsWith("repeat: 1000000000 rounds a pass"));
}

TEST(Repeat, ShufflesAnewInEveryPass) {
  auto inner = make_order(orders::shuffle(), options({{"buffer", 20}}), std::make_unique<Numbers>(first(20)));
  auto order = make_order(orders::repeat(), options({{"count", 2}}), std::move(inner));
  order->begin(0);
  const Order both = drain(*order);
  ASSERT_EQ(both.size(), 40U);
  EXPECT_NE(Order(both.begin(), both.begin() + 20), Order(both.begin() + 20, both.end()));
}

/// Has one element in passes 0 and 5, and none in the others.
class FewPasses final : public Handles {
 public:
  void begin(std::int64_t epoch) override { left_ = epoch == 0 || epoch == 5 ? 1 : 0; }
  Result<std::size_t> pull(std::span<Handle> out) override {
    if (left_ == 0) return std::size_t{0};
    out[0] = testing::handle(7);
    return left_--;
  }

 private:
  std::size_t left_ = 0;
};

TEST(Repeat, APassDoesNotDependOnTheEmptyPassesOfTheOneBefore) {
  const auto restarted = make_order(orders::repeat(), options({}), std::make_unique<FewPasses>());
  const auto unbroken = make_order(orders::repeat(), options({}), std::make_unique<FewPasses>());
  unbroken->begin(0);
  EXPECT_EQ(drain(*unbroken), (Order{7, 7}));
  for (Handles* order : {restarted.get(), unbroken.get()}) {
    order->begin(1);
    EXPECT_EQ(drain(*order), (Order{7}));
  }
}

TEST(Repeat, ForEverOverNothingEnds) {
  auto order = make_order(orders::repeat(), options({}), std::make_unique<Numbers>(Order{}));
  order->begin(0);
  EXPECT_EQ(drain(*order), Order{});
}

TEST(Take, EndsEarlyAndStaysAtTheEnd) {
  auto order = make_order(orders::take(), options({{"count", 3}}), std::make_unique<Numbers>(first(10)));
  order->begin(0);
  EXPECT_EQ(drain(*order), (Order{0, 1, 2}));
  EXPECT_EQ(drain(*order), Order{});
}

TEST(Skip, LeavesOutTheFirstAndHandsThemBack) {
  NumberFiles reader{{}};
  auto order = make_order(orders::skip(), options({{"count", 3}}), std::make_unique<Numbers>(first(6), 2), &reader);
  order->begin(0);
  EXPECT_EQ(drain(*order), (Order{3, 4, 5}));
  EXPECT_EQ(reader.dropped, 3U);
}

TEST(Skip, MoreThanThereAreLeavesNothing) {
  auto order = make_order(orders::skip(), options({{"count", 30}}), std::make_unique<Numbers>(first(6)));
  order->begin(0);
  EXPECT_EQ(drain(*order), Order{});
}

TEST(Shuffle, ABufferOfZeroIsRefusedWithItsRange) {
  const auto bound = orders::shuffle().bind(options({{"buffer", 0}}));
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.error().text(), ::testing::HasSubstr("buffer"));
}

/// Files of numbers whose attribute is whether a number is a multiple of three. Fails when told to.
class Multiples final : public NumberFiles {
 public:
  using NumberFiles::NumberFiles;
  Result<void> attributes(std::size_t, std::span<const Handle> records, std::span<std::int64_t> out) override {
    if (failures > 0) return --failures, Error{Code::cancelled, "interrupted"};
    for (std::size_t i = 0; i < records.size(); ++i) out[i] = records[i].block % 3 == 0 ? 1 : 0;
    asked += records.size();
    return {};
  }
  int failures = 0;
  std::size_t asked = 0;
};

std::unique_ptr<Handles> filtered(std::vector<std::uint32_t> numbers, Reader& reader, bool endless = false,
                                  std::size_t most = 1000) {
  const auto ordering = orders::filter().bind(options({{"where", "n % 3 == 0"}}));
  auto order = ordering->make(
      {.upstream = std::make_unique<Numbers>(std::move(numbers), most), .reader = &reader, .endless = endless});
  order->begin(0);
  return order;
}

TEST(Filter, PassesOnTheElementsWhoseConditionHoldsAndDropsTheOthers) {
  Order multiples;
  for (std::uint32_t n = 0; n < 1000; n += 3) multiples.push_back(n);
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{600}}) {
    for (const std::size_t most : {std::size_t{2}, std::size_t{1000}}) {
      Multiples reader{{}};
      EXPECT_EQ(drain(*filtered(first(1000), reader, false, most), chunk), multiples);
      EXPECT_EQ(reader.dropped, 1000 - multiples.size());
      EXPECT_EQ(reader.asked, 1000U);
    }
  }
}

TEST(Filter, AFailedCallLosesNothing) {
  Multiples reader{{}};
  const auto order = filtered(first(10), reader);
  reader.failures = 2;
  std::array<Handle, 8> out;
  EXPECT_FALSE(order->pull(out).ok());
  EXPECT_FALSE(order->pull(std::span{out}.first(1)).ok());
  EXPECT_EQ(drain(*order, 2), (Order{0, 3, 6, 9}));
  EXPECT_EQ(reader.dropped, 6U);
}

TEST(Filter, ANewPassDropsWhatIsLeftOfTheLastOne) {
  Multiples reader{{}};
  const auto order = filtered({0, 3, 6, 9, 1}, reader);
  std::array<Handle, 2> out;
  reader.failures = 1;
  EXPECT_FALSE(order->pull(out).ok());
  order->begin(1);
  EXPECT_EQ(reader.dropped, 2U);
  EXPECT_EQ(drain(*order), (Order{0, 3, 6, 9}));
}

TEST(Filter, AnEndlessRunOfPassesThatKeepNothingIsAnErrorAndAnyOtherIsNot) {
  Multiples reader{{}};
  std::array<Handle, 8> out;
  const auto passes = [&](Handles& order) {
    for (int pass = 0; pass < 100; ++pass, order.begin(pass)) {
      if (!order.pull(out).ok()) return pass;
    }
    return 100;
  };
  EXPECT_EQ(passes(*filtered({1, 2, 4}, reader, true)), 15);
  EXPECT_EQ(passes(*filtered({1, 2, 4}, reader)), 100);
  EXPECT_EQ(passes(*filtered({1, 3}, reader, true)), 100);
  EXPECT_EQ(passes(*filtered({}, reader, true)), 100);
  const auto order = filtered({1}, reader, true);
  for (int pass = 0; pass < 15; ++pass) {
    EXPECT_TRUE(order->pull(out).ok());
    order->begin(pass + 1);
  }
  EXPECT_THAT(order->pull(out).error().text(), ::testing::HasSubstr("16 passes one after the other had no record for "
                                                                    "which 'n % 3 == 0' holds"));
  EXPECT_FALSE(order->pull(out).ok());
}

TEST(Filter, TheNumberOfElementsIsUnknownUnlessThereAreNone) {
  const auto ordering = orders::filter().bind(options({{"where", "true"}}));
  EXPECT_EQ(ordering->count(10), std::nullopt);
  EXPECT_EQ(ordering->count(0), 0);
}

}  // namespace
}  // namespace forebay
