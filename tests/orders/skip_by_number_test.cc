// SPDX-License-Identifier: Apache-2.0
// Handles::skip of every order.
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/handles.h"

namespace forebay::orders {
OrderType shuffle();
OrderType interleave();
OrderType repeat();
OrderType take();
OrderType skip();
}  // namespace forebay::orders

namespace forebay {
namespace {

using testing::drain;
using testing::first;
using testing::make_order;
using testing::NumberFiles;
using testing::Numbers;

/// Passes over `n` elements in as many calls as that takes; returns how many there were.
std::int64_t pass_over(Handles& handles, std::int64_t n, Reader& reader) {
  std::int64_t passed = 0;
  while (passed < n) {
    const auto count = handles.skip(n - passed, reader);
    if (!count.ok() || *count == 0) return passed;
    passed += *count;
  }
  return passed;
}

TEST(EveryOrder, PassesOverElementsAsIfTheyWerePulled) {
  const std::vector<std::vector<std::uint32_t>> files{first(40), {}, {100, 101, 102}, {200, 201}};
  const std::vector<std::pair<OrderType, Json>> chains[] = {
      {{orders::interleave(), Json::object({{"cycle", 1}})}},
      {{orders::interleave(), Json::object({{"cycle", 3}, {"block", 2}})}},
      {{orders::shuffle(), Json::object({{"global", true}})}},
      {{orders::interleave(), Json::object()}, {orders::shuffle(), Json::object({{"buffer", 7}})}},
      {{orders::interleave(), Json::object()}, {orders::skip(), Json::object({{"count", 4}})}},
      {{orders::interleave(), Json::object()}, {orders::take(), Json::object({{"count", 30}})}},
      {{orders::shuffle(), Json::object({{"global", true}})},
       {orders::repeat(), Json::object({{"count", 3}})},
       {orders::skip(), Json::object({{"count", 50}})},
       {orders::take(), Json::object({{"count", 60}})}}};
  for (const auto& chain : chains) {
    NumberFiles reader{files};
    const auto order = [&] {
      std::unique_ptr<Handles> out = std::make_unique<Numbers>(first(4));
      for (const auto& [type, how] : chain) out = make_order(type, how, std::move(out), &reader);
      out->begin(0);
      return out;
    };
    const std::vector<std::uint32_t> all = drain(*order());
    ASSERT_GT(all.size(), 25U);
    for (std::size_t before = 0; before < 20; before += 6) {
      for (std::size_t passed = 1; passed <= all.size() - before + 1; ++passed) {
        const auto one = order();
        std::vector<Handle> pulled(before);
        for (std::size_t had = 0; had < before;) had += *one->pull(std::span{pulled}.subspan(had));
        const std::size_t there = std::min(passed, all.size() - before);
        ASSERT_EQ(pass_over(*one, static_cast<std::int64_t>(passed), reader), static_cast<std::int64_t>(there));
        ASSERT_EQ(drain(*one),
                  std::vector<std::uint32_t>(all.begin() + static_cast<std::ptrdiff_t>(before + there), all.end()));
        one->begin(0);
        ASSERT_EQ(drain(*one), all) << "a new pass passes over nothing";
      }
    }
  }
}

TEST(EveryOrder, ThatKnowsTheNumberOfItsElementsLocatesNoneToPassOverThem) {
  NumberFiles reader{{first(1000), first(500)}};
  auto order =
      make_order(orders::shuffle(), Json::object({{"global", true}}), std::make_unique<Numbers>(first(2)), &reader);
  order->begin(0);
  EXPECT_EQ(*order->skip(1400, reader), 1400);
  EXPECT_EQ(*order->skip(1400, reader), 100);
  EXPECT_EQ(*order->skip(1400, reader), 0);
  EXPECT_EQ(reader.dropped, 0U);
  order = make_order(orders::interleave(), Json::object(), std::make_unique<Numbers>(first(2)), &reader);
  order->begin(0);
  EXPECT_EQ(pass_over(*order, 1400, reader), 1400);
  EXPECT_EQ(reader.passed, 1400U);
  EXPECT_EQ(reader.dropped, 0U);
}

}  // namespace
}  // namespace forebay
