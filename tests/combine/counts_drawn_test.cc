// SPDX-License-Identifier: Apache-2.0
#include "combine/counts_drawn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace forebay::combine {
namespace {

double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

/// Draws with many keys and compares how often each count came with its probability: by χ², in standard deviations.
double away(const std::function<std::int64_t(Uniform&)>& draw, const std::function<double(double)>& log_probability,
            std::int64_t last) {
  constexpr int times = 100'000;
  std::vector<double> found(static_cast<std::size_t>(last) + 1);
  for (std::uint64_t key = 0; key < times; ++key) {
    Uniform draws{mix(key)};
    const std::int64_t count = draw(draws);
    EXPECT_GE(count, 0);
    EXPECT_LE(count, last);
    if (count >= 0 && count <= last) ++found[static_cast<std::size_t>(count)];
  }
  double chi = 0, freedom = -1, rare = 0, rare_found = 0;
  for (std::int64_t k = 0; k <= last; ++k) {
    const double expected = times * std::exp(log_probability(static_cast<double>(k)));
    const double there = found[static_cast<std::size_t>(k)];
    if (!(expected >= 5)) {
      rare += std::isnan(expected) ? 0 : expected;
      rare_found += there;
      continue;
    }
    chi += (there - expected) * (there - expected) / expected;
    ++freedom;
  }
  EXPECT_LT(rare_found, rare + 6 * std::sqrt(rare + 1));
  return (chi - freedom) / std::sqrt(2 * std::max(1.0, freedom));
}

struct Trial {
  std::int64_t n;
  std::uint64_t hits, all;
};

TEST(CountsDrawn, BinomialCountsComeAsOftenAsTheyShould) {
  for (const Trial& trial : std::vector<Trial>{{1, 1, 3},
                                               {10, 1, 2},
                                               {100, 99, 100},
                                               {4'096, 3, 10},
                                               {4'096, 1, 2},
                                               {4'096, 1, 1'000},
                                               {4'096, 1, 1'000'000},
                                               {100'000, 999, 1'000},
                                               {65'536, 1, 5'000},
                                               {65'536, 1, 3},
                                               {65'536, 2, 3},
                                               {1'000'000, 1, 7}}) {
    const auto n = trial.n;
    const auto hits = trial.hits, all = trial.all;
    const double p = static_cast<double>(hits) / static_cast<double>(all);
    const auto size = static_cast<double>(n);
    EXPECT_LT(away([&](Uniform& draws) { return draw_binomial(n, hits, all, draws); },
                   [&](double k) { return log_choose(size, k) + k * std::log(p) + (size - k) * std::log1p(-p); }, n),
              4)
        << n << " draws with " << p;
  }
}

TEST(CountsDrawn, HypergeometricCountsComeAsOftenAsTheyShould) {
  struct Deal {
    std::int64_t all, marked, taken;
  };
  for (const Deal& deal : std::vector<Deal>{{2, 1, 1},
                                            {128, 40, 64},
                                            {128, 64, 64},
                                            {120, 50, 100},
                                            {200, 100, 30},
                                            {100, 7, 50},
                                            {4'096, 1'000, 2'048},
                                            {4'096, 3'000, 2'100},
                                            {4'096, 30, 2'048},
                                            {4'096, 4'000, 40},
                                            {100'000, 30'000, 50'000}}) {
    const auto all = deal.all, marked = deal.marked, taken = deal.taken;
    const auto n = static_cast<double>(all), of = static_cast<double>(marked), by = static_cast<double>(taken);
    const auto log_probability = [&](double k) {
      const bool possible = k <= of && k <= by && n - of >= by - k;
      return possible ? log_choose(of, k) + log_choose(n - of, by - k) - log_choose(n, by) : -1e9;
    };
    EXPECT_LT(away([&](Uniform& draws) { return draw_hypergeometric(all, marked, taken, draws); }, log_probability,
                   std::min(marked, taken)),
              4)
        << taken << " of " << all << ", " << marked << " marked";
  }
}

TEST(CountsDrawn, CountsStayWithinWhatThereIs) {
  Uniform draws{1};
  for (int i = 0; i < 20'000; ++i) {
    const auto all = static_cast<std::int64_t>(draws.bits() >> (31 + draws.below(33)));
    const auto marked = static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(all) + 1));
    const std::int64_t taken =
        i % 2 == 0 ? all / 2 : static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(all) + 1));
    if (std::min({marked, all - marked, taken, all - taken}) > 24 || all < 100'000) {
      const std::int64_t count = draw_hypergeometric(all, marked, taken, draws);
      ASSERT_GE(count, std::max<std::int64_t>(0, marked + taken - all));
      ASSERT_LE(count, std::min(marked, taken));
    }
    const std::int64_t hits =
        draw_binomial(all, static_cast<std::uint64_t>(marked), static_cast<std::uint64_t>(all) + 1, draws);
    ASSERT_GE(hits, 0);
    ASSERT_LE(hits, all);
  }
}

}  // namespace
}  // namespace forebay::combine
