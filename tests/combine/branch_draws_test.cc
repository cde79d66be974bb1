// SPDX-License-Identifier: Apache-2.0
#include "combine/branch_draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/draw.h"

namespace forebay::combine {
namespace {

using Counts = BranchDraws::Counts;
constexpr std::int64_t no_limit = std::int64_t{1} << 60;

std::vector<std::uint64_t> many_weights(std::size_t branches) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < branches; ++i) out.push_back(1 + mix(i) % 1'000'000);
  return out;
}

const std::vector<std::vector<std::uint64_t>> all_weights{
    {5, 3, 2}, {1, 1}, {7}, {0, 4, 0, 1}, {1, 1'000'000'000}, many_weights(40), many_weights(255)};

std::int64_t sum(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

Counts before(BranchDraws& draws, std::int64_t n, std::size_t branches) {
  Counts out(branches, 0);
  const Counts left(branches, no_limit);
  EXPECT_EQ(draws.pass_over(n, left, out), n);
  return out;
}

TEST(BranchDraws, CountsBeforeARowAreThoseOfTheRowsBeforeIt) {
  constexpr std::int64_t rows = 1'000'000, places = 1'000;
  for (const auto& weights : all_weights) {
    BranchDraws scanned{41, weights};
    Counts counts(weights.size(), 0);
    for (std::int64_t n = 0; n < rows; ++n) {
      const std::size_t branch = scanned.next();
      if (n % (rows / places) == 0) {
        BranchDraws other{41, weights};
        ASSERT_EQ(before(other, n, weights.size()), counts) << "row " << n << " of " << weights.size() << " branches";
        ASSERT_EQ(other.next(), branch);
      }
      ++counts[branch];
    }
  }
}

TEST(BranchDraws, TheSameCountsFollowInOneStepAndInSeveral) {
  for (const auto& weights : all_weights) {
    for (std::uint64_t i = 0; i < (weights.size() < 10 ? 100 : 20); ++i) {
      const auto rows = static_cast<std::int64_t>(draw_at(1, i) >> (30 + i % 20));
      const auto first = static_cast<std::int64_t>(below(draw_at(2, i), static_cast<std::uint64_t>(rows) + 1));
      BranchDraws whole{i, weights}, parts{i, weights};
      const Counts counts = before(whole, rows, weights.size());
      Counts of_parts = before(parts, first, weights.size());
      const Counts rest = before(parts, rows - first, weights.size());
      for (std::size_t branch = 0; branch < weights.size(); ++branch) of_parts[branch] += rest[branch];
      ASSERT_EQ(of_parts, counts) << rows << " rows, of which " << first;
      ASSERT_EQ(sum(counts), rows);
      for (int n = 0; n < 300; ++n) ASSERT_EQ(whole.next(), parts.next()) << n << " rows after " << rows;
    }
  }
}

TEST(BranchDraws, PassesOverAllRowsUpToTheOneThatABranchLacks) {
  for (const auto& weights : all_weights) {
    for (std::uint64_t i = 0; i < 200; ++i) {
      BranchDraws scanned{i, weights}, passing{i, weights};
      for (std::uint64_t skipped = below(draw_at(3, i), 700); skipped > 0; --skipped)
        ASSERT_EQ(scanned.next(), passing.next());
      Counts left(weights.size(), 0), wanted(weights.size(), 0), counts(weights.size(), 0);
      for (std::size_t branch = 0; branch < left.size(); ++branch)
        left[branch] = static_cast<std::int64_t>(below(draw_at(4, i * 255 + branch), 5'000));
      std::int64_t rows = 0;
      for (std::size_t branch = scanned.next(); wanted[branch] < left[branch]; branch = scanned.next())
        ++wanted[branch], ++rows;
      ASSERT_EQ(passing.pass_over(no_limit, left, counts), rows);
      ASSERT_EQ(counts, wanted);
      const std::size_t lacking = passing.next();
      ASSERT_EQ(wanted[lacking], left[lacking]);
    }
  }
}

/// The sum of (found - expected)² / expected.
double chi_squared(const std::vector<double>& found, const std::vector<double>& expected) {
  double out = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    out += (found[i] - expected[i]) * (found[i] - expected[i]) / expected[i];
  return out;
}

TEST(BranchDraws, RowsAreDrawnIndependently) {
  const std::vector<std::uint64_t> weights{5, 3, 2};
  constexpr std::int64_t keys = 3'000;
  // Pairs of rows of one half, of two halves, of two regions, and far apart.
  for (const auto& [first, second] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 1}, {17, 18}, {3, 130}, {255, 256}, {100, 2'100}, {4'095, 4'096}, {5'000, 70'000}, {1, 200'000'000}}) {
    std::vector<double> found(9), expected;
    for (std::uint64_t key = 0; key < keys; ++key) {
      BranchDraws draws{mix(key), weights};
      before(draws, first, 3);
      const std::size_t one = draws.next();
      before(draws, second - first - 1, 3);
      ++found[3 * one + draws.next()];
    }
    for (const std::uint64_t one : weights)
      for (const std::uint64_t other : weights)
        expected.push_back(static_cast<double>(keys) * static_cast<double>(one * other) / 100);
    EXPECT_LT(chi_squared(found, expected), 26.1) << "rows " << first << " and " << second;  // 99.9 %, 8 degrees
  }
}

TEST(BranchDraws, CountsVaryAsThoseOfIndependentDraws) {
  for (const std::int64_t rows : {100, 256, 1'000, 5'000, 1'000'000}) {
    double squares = 0;
    constexpr std::int64_t keys = 4'000;
    const double mean = 0.3 * static_cast<double>(rows), variance = 0.7 * mean;
    for (std::uint64_t key = 0; key < keys; ++key) {
      BranchDraws draws{mix(key + 9), {3, 7}};
      const double away = static_cast<double>(before(draws, rows, 2)[0]) - mean;
      squares += away * away;
    }
    EXPECT_NEAR(squares / keys / variance, 1, 0.1) << rows << " rows";  // four times its standard deviation
  }
}

/// Every machine draws the same rows: these numbers are those of another one, too.
TEST(BranchDraws, AreTheSameOnEveryMachine) {
  std::uint64_t digest = 0;
  for (const auto& weights : all_weights) {
    BranchDraws draws{2026, weights};
    for (std::int64_t jump = 1; jump < std::int64_t{1} << 34; jump *= 3) {
      for (const std::int64_t count : before(draws, jump, weights.size()))
        digest = mix(digest ^ static_cast<std::uint64_t>(count));
      for (int i = 0; i < 2'000; ++i) digest = mix(digest ^ draws.next());
    }
  }
  EXPECT_EQ(digest, 15771045286265690625U);
}

}  // namespace
}  // namespace forebay::combine
