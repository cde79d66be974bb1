// SPDX-License-Identifier: Apache-2.0
#include "base/permutation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

using Order = std::vector<std::uint64_t>;

Order order_of(std::uint64_t n, std::uint64_t key) {
  Order out(n);
  Permutation{n, key}.map(0, out);
  return out;
}

bool is_permutation(const Order& order) {
  std::vector<bool> seen(order.size());
  for (const std::uint64_t element : order) {
    if (element >= order.size() || seen[element]) return false;
    seen[element] = true;
  }
  return true;
}

/// How many standard deviations a chi-square statistic lies above what is expected (Wilson and Hilferty 1931).
double deviations(double chi_square, double freedom) {
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - spread)) / std::sqrt(spread);
}

/// The same for counts of cells that should be equally full.
double unevenness(const std::vector<double>& counts) {
  const auto cells = static_cast<double>(counts.size());
  const double expected = std::accumulate(counts.begin(), counts.end(), 0.0) / cells;
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - expected) * (count - expected) / expected;
  return deviations(chi_square, cells - 1);
}

// The keys are fixed, so a test passes always or never; by chance alone one in 30,000 would be over it.
constexpr double max_deviations = 4;
constexpr std::uint64_t keys = 20'000;

TEST(Permutation, HasEveryElementOnceForEverySmallSize) {
  for (std::uint64_t n = 0; n <= 2000; ++n) ASSERT_TRUE(is_permutation(order_of(n, n))) << n;
}

TEST(Permutation, FindsThePositionOfEveryElement) {
  for (const std::uint64_t n : {1ULL, 2ULL, 3ULL, 10ULL, 97ULL, 1000ULL, 65'537ULL, 100'003ULL}) {
    const Permutation permutation{n, 11};
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(permutation.position(permutation(i)), i) << n;
    EXPECT_EQ(permutation.position(n + 5), n + 5);
  }
  const Permutation huge{1ULL << 61, 4};
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(huge.position(huge(i * 1'000'003)), i * 1'000'003);
}

TEST(Permutation, HasEveryElementOnceForLargeSizes) {
  for (const std::uint64_t n : {65'535, 65'536, 65'537, 262'144, 999'983, 1'000'000})
    EXPECT_TRUE(is_permutation(order_of(n, 5))) << n;
}

TEST(Permutation, StaysBelowItsSizeAndNeverRepeatsForHugeSizes) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  for (const std::uint64_t n : {std::uint64_t{1} << 31, (std::uint64_t{1} << 40) + 1, most - 1, most}) {
    const Permutation permutation{n, 3};
    Order sample(100'000);
    permutation.map(0, std::span{sample}.first(50'000));
    permutation.map(n - 50'000, std::span{sample}.last(50'000));
    EXPECT_EQ(sample[99'999], permutation(n - 1));
    std::sort(sample.begin(), sample.end());
    EXPECT_LT(sample.back(), n);
    EXPECT_EQ(std::adjacent_find(sample.begin(), sample.end()), sample.end()) << n;
  }
}

TEST(Permutation, MapsManyAsItMapsEachOfThem) {
  for (const std::uint64_t n :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{13}, std::uint64_t{1000}, std::uint64_t{65'536},
        std::uint64_t{999'983}, (std::uint64_t{1} << 32) - 1, (std::uint64_t{1} << 40) + 1, std::uint64_t{1} << 62}) {
    const Permutation permutation{n, 11 * n};
    for (const std::uint64_t first : {std::uint64_t{0}, n / 3, n - std::min<std::uint64_t>(n, 500), n, n + 7}) {
      Order many(1001);
      permutation.map(first, many);
      Order each(many.size());
      for (std::size_t i = 0; i < each.size(); ++i) each[i] = permutation(first + i);
      EXPECT_EQ(many, each) << n << " from " << first;
    }
  }
}

TEST(Permutation, LeavesPositionsBeyondItsSizeAlone) {
  EXPECT_EQ((Permutation{0, 1}(0)), 0U);
  EXPECT_EQ((Permutation{10, 1}(10)), 10U);
}

TEST(Permutation, DiffersBetweenKeysAndNotBetweenTwoOfOneKey) {
  EXPECT_EQ(order_of(1000, 1), order_of(1000, 1));
  for (const std::uint64_t key : {0ULL, 2ULL, 1ULL << 32, 1ULL << 63})
    EXPECT_NE(order_of(1000, key), order_of(1000, 1));
}

// What a state that was saved relies on: an order never changes. If this fails, states need a new version.
TEST(Permutation, OrderOfAKeyIsWhatItAlwaysWas) {
  EXPECT_EQ(order_of(12, 42), (Order{2, 4, 0, 7, 1, 5, 6, 3, 8, 11, 9, 10}));
  EXPECT_EQ((Permutation{1'000'000'007, 42}(123'456'789)), 222'599'846U);
}

TEST(Permutation, EveryElementIsAtEveryPositionEquallyOften) {
  for (std::uint64_t n = 2; n <= 12; ++n) {
    std::vector<double> times(n * n);
    for (std::uint64_t key = 0; key < keys; ++key) {
      const Order order = order_of(n, key);
      for (std::uint64_t i = 0; i < n; ++i) ++times[i * n + order[i]];
    }
    const double expected = static_cast<double>(keys) / static_cast<double>(n);
    double chi_square = 0;
    for (const double count : times) chi_square += (count - expected) * (count - expected) / expected;
    // Rows and columns have fixed sums, and an order fills n cells at once: (n - 1)² degrees of freedom, scaled.
    const auto size = static_cast<double>(n);
    EXPECT_LT(deviations(chi_square * (size - 1) / size, (size - 1) * (size - 1)), max_deviations) << n;
  }
}

TEST(Permutation, EveryOrderOfFewElementsComesEquallyOften) {
  double orders = 1;
  for (std::uint64_t n = 2; n <= 6; ++n) {
    orders *= static_cast<double>(n);
    std::map<Order, double> times;
    for (std::uint64_t key = 0; key < keys; ++key) ++times[order_of(n, key)];
    std::vector<double> counts(static_cast<std::size_t>(orders));
    ASSERT_EQ(times.size(), counts.size()) << n;
    std::transform(times.begin(), times.end(), counts.begin(), [](const auto& each) { return each.second; });
    EXPECT_LT(unevenness(counts), max_deviations) << n;
  }
}

TEST(Permutation, ATenthOfAThousandPositionsGetsEveryTenthOfTheElementsEquallyOften) {
  std::vector<double> times(100);
  constexpr std::uint64_t n = 1000;
  for (std::uint64_t key = 0; key < 2000; ++key) {
    const Order order = order_of(n, key);
    for (std::uint64_t i = 0; i < n; ++i) ++times[i / 100 * 10 + order[i] / 100];
  }
  double chi_square = 0;
  for (const double count : times) chi_square += (count - 20'000) * (count - 20'000) / 20'000;
  EXPECT_LT(deviations(chi_square * (n - 1.0) / n, 81), max_deviations);
}

TEST(Permutation, DistanceOfNeighboursIsUniform) {
  for (const std::uint64_t n : {5ULL, 30ULL, 100ULL, 1000ULL, 65'536ULL, 1'000'000ULL, 1ULL << 40}) {
    // Neighbours in the order, and those that share one digit of the network's two.
    const auto root = static_cast<std::uint64_t>(std::ceil(std::sqrt(static_cast<double>(n))));
    for (const std::uint64_t apart : {std::uint64_t{1}, root - 1, root, root + 1}) {
      std::vector<double> times(n <= 1000 ? n - 1 : 100);  // cells of one distance each, or wide ones
      for (std::uint64_t key = 0; key < keys; ++key) {
        const Permutation permutation{n, key};
        const std::uint64_t distance = (permutation(0) + n - permutation(apart % n)) % n - 1;
        ++times[static_cast<std::size_t>(static_cast<UInt128>(distance) * times.size() / (n - 1))];
      }
      EXPECT_LT(unevenness(times), max_deviations) << n << " " << apart;
    }
  }
}

TEST(Permutation, NeighboursAreNotCorrelated) {
  for (const std::uint64_t n : {100'000ULL, 1ULL << 50}) {
    const Permutation permutation{n, 9};
    constexpr std::uint64_t pairs = 99'999;
    const double mean = 0.5;
    double sum = 0;
    for (std::uint64_t i = 0; i < pairs; ++i) {
      const double scale = 1 / static_cast<double>(n);
      sum += (static_cast<double>(permutation(i)) * scale - mean) *
             (static_cast<double>(permutation(i + 1)) * scale - mean);
    }
    const double correlation = sum * 12 / pairs;
    EXPECT_LT(std::abs(correlation) * std::sqrt(pairs), max_deviations) << n;
  }
}

TEST(Permutation, FixedPointsAreAsRareAsInARandomOrder) {
  for (const std::uint64_t n : {10ULL, 1000ULL, 70'000ULL}) {
    const std::uint64_t runs = n > 1000 ? 200 : 5000;
    std::vector<double> times(5);  // 0, 1, 2, 3 and more fixed points
    for (std::uint64_t key = 0; key < runs; ++key) {
      const Order order = order_of(n, key);
      std::size_t fixed = 0;
      for (std::uint64_t i = 0; i < n; ++i) fixed += order[i] == i ? 1 : 0;
      ++times[std::min<std::size_t>(fixed, 4)];
    }
    double chi_square = 0, rest = 1, share = std::exp(-1.0);  // Poisson(1)
    for (std::size_t k = 0; k < 5; ++k) {
      const double expected = static_cast<double>(runs) * (k < 4 ? share : rest);
      chi_square += (times[k] - expected) * (times[k] - expected) / expected;
      rest -= share;
      share /= static_cast<double>(k + 1);
    }
    EXPECT_LT(deviations(chi_square, 4), max_deviations) << n;
  }
}

}  // namespace
}  // namespace forebay
