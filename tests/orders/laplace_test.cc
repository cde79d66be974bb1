// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/laplace.h>
#include <forebay/plugin.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/handles.h"

namespace forebay::orders {
OrderType laplace();
}  // namespace forebay::orders

namespace forebay {
namespace {

using testing::drain;
using testing::make_order;
using testing::NumberFiles;
using List = std::vector<std::uint32_t>;

/// Elements whose attribute is the rest by 1000 of their number, with a sign. Every other call is interrupted.
class Signed final : public NumberFiles {
 public:
  Signed() : NumberFiles{{}} {}
  static std::int64_t key(std::uint32_t n) { return std::int64_t{n % 1000} * (n % 2 == 0 ? 1 : -1); }
  Result<void> attributes(std::size_t attribute, std::span<const Handle> records,
                          std::span<std::int64_t> out) override {
    EXPECT_EQ(attribute, 0U);
    if (interrupts && ++calls_ % 2 == 1) return Error{Code::cancelled, "interrupted"};
    for (std::size_t i = 0; i < records.size(); ++i) out[i] = key(records[i].block);
    return {};
  }
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override {
    if (bytes > max) return Error{Code::data, Detail::resource_exhausted, "too much"};
    return std::make_shared<int>(0);
  }
  bool interrupts = false;
  std::int64_t max = INT64_MAX;

 private:
  int calls_ = 0;
};

std::unique_ptr<Handles> laplace_of(std::int64_t buffer, List numbers, Reader& reader, std::size_t at_once = 1000) {
  const Json options = Json::object({{"buffer", buffer}, {"by", "n"}});
  auto order =
      make_order(orders::laplace(), options, std::make_unique<testing::Numbers>(std::move(numbers), at_once), &reader);
  order->begin(0);
  return order;
}

List mixed(std::uint32_t count) {
  List out(count);
  for (std::uint32_t i = 0; i < count; ++i) out[i] = i * 7919 % 100'003;
  return out;
}

/// Each `buffer` of them sorted, up and down in turn; equal ones stay in their order.
List wanted(List numbers, std::size_t buffer) {
  for (std::size_t begin = 0, turn = 0; begin < numbers.size(); begin += buffer, ++turn) {
    const auto from = numbers.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = numbers.begin() + static_cast<std::ptrdiff_t>(std::min(begin + buffer, numbers.size()));
    std::stable_sort(from, to, [&](std::uint32_t a, std::uint32_t b) {
      return turn % 2 == 0 ? Signed::key(a) < Signed::key(b) : Signed::key(a) > Signed::key(b);
    });
  }
  return numbers;
}

TEST(Laplace, SortsBuffersUpAndDownInTurnForAnySizesAndEveryPass) {
  for (const std::int64_t buffer : {1, 2, 3, 10, 2500, 5000, 100'000}) {
    for (const std::uint32_t count : {0U, 1U, 5U, 30U, 5000U}) {
      for (const std::size_t at_once : {std::size_t{3}, std::size_t{1000}}) {
        Signed reader;
        const auto order = laplace_of(buffer, mixed(count), reader, at_once);
        for (std::int64_t epoch = 1; epoch < 3; ++epoch, order->begin(epoch))
          EXPECT_EQ(drain(*order), wanted(mixed(count), static_cast<std::size_t>(buffer))) << buffer << " " << count;
        EXPECT_EQ(drain(*order, 1), wanted(mixed(count), static_cast<std::size_t>(buffer)));
        EXPECT_EQ(drain(*order), List{}) << "the end repeats";
      }
    }
  }
}

TEST(Laplace, LosesNothingByAnInterruptionAndHandsBackWhatItHolds) {
  Signed reader;
  reader.interrupts = true;
  const auto order = laplace_of(10, mixed(25), reader);
  List out;
  Handle one;
  for (int i = 0; i < 100; ++i) {
    const auto count = order->pull({&one, 1});
    if (count.ok() && *count == 1) out.push_back(one.block);
  }
  EXPECT_EQ(out, wanted(mixed(25), 10));
  order->begin(1);
  EXPECT_EQ(reader.dropped, 0U);
  while (!order->pull({&one, 1}).ok()) continue;
  order->begin(2);
  EXPECT_EQ(reader.dropped, 9U) << "10 pulled, 1 delivered";
}

TEST(Laplace, FailsWithoutMemory) {
  Signed reader;
  reader.max = 1000;
  const auto order = laplace_of(1'000'000, mixed(25), reader);
  Handle one;
  EXPECT_THAT(order->pull({&one, 1}).error().text(),
              ::testing::HasSubstr("a buffer with room for 1024 elements to sort: too much"));
}

}  // namespace
}  // namespace forebay
