// SPDX-License-Identifier: Apache-2.0
// Counts of draws: of a small variance by inversion from the mode on, of a larger one by rejection under a ratio of
// uniforms (E. Stadlober: The Ratio of Uniforms Approach for Generating Discrete Random Variates, 1990). All arithmetic
// is that of integers and + - * / and square root of doubles, which IEEE 754 rounds alike everywhere (the layer is
// compiled without fused operations): every machine draws the same counts. Probabilities are of the saddle-point form
// (C. Loader: Fast and Accurate Computation of Binomial Probabilities, 2000), since differences of logarithms of
// factorials lose digits.
#include "combine/counts_drawn.h"

#include <algorithm>
#include <cmath>

namespace forebay::combine {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double max_inverted = 1024;  // variance: about 25 steps from the mode on
constexpr std::int64_t few = 24;       // so many elements are drawn one by one
constexpr std::int64_t min_cell = 8;   // counts from which on the series of `stirling_error` holds to 1e-11

/// e^x for -1/2 ≤ x ≤ 1/2.
double small_exp(double x) {
  double sum = 1;
  for (int i = 16; i > 0; --i) sum = 1 + sum * x / i;
  return sum;
}

/// e^-x, which is taken as 0 for x > 60.
double exp_minus(double x) {
  if (x > 60) return 0;
  double out = small_exp(-x / 128);
  for (int i = 0; i < 7; ++i) out *= out;
  return out;
}

/// ln(n!) less Stirling's formula for it.
double stirling_error(double n) {
  const double squared = n * n;
  return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 / squared) / squared) / squared) / n;
}

/// x ln(x / mean) + mean - x, for an x near its mean.
double deviance(double x, double mean) {
  const double part = (x - mean) / (x + mean);
  double power = 2 * x * part;
  double sum = (x - mean) * part;
  for (int i = 3; i < 25; i += 2) {
    power *= part * part;
    sum += power / i;
  }
  return sum;
}

/// Minus the logarithm of the probability that `n` draws of chance `p` hit `k` times, without the square root of
/// n / (2 pi k (n - k)).
double surprise(double n, double k, double p) {
  return stirling_error(k) + stirling_error(n - k) - stirling_error(n) + deviance(k, n * p) +
         deviance(n - k, n * (1 - p));
}

/// Goes through the counts from the mode on, outwards, until `left` of the probability is used up. `up` and `down` give
/// the ratio of the probability of the next count to that of this one; 0 behind the last one.
template <class Up, class Down>
std::int64_t from_mode(std::int64_t mode, double at_mode, double left, Up up, Down down) {
  left -= at_mode;
  double above = at_mode, below = at_mode;
  for (std::int64_t away = 0; left >= 0; ++away) {
    above *= up(static_cast<double>(away));
    left -= above;
    if (left < 0) return mode + away + 1;
    below *= down(static_cast<double>(away));
    left -= below;
    if (left < 0) return mode - away - 1;
    if (above + below <= 0) break;  // what rounding left
  }
  return mode;
}

/// A count from 0 to `last` of a distribution with one mode. `relative`: how probable a count is, as a part of the
/// mode.
template <class Relative>
std::int64_t by_rejection(double mean, double variance, double last, Uniform& draws, Relative relative) {
  constexpr double slope = 1.7155277699214135;   // 2 √(2/e)
  constexpr double offset = 0.8989161620588988;  // 3 - 2 √(3/e)
  const double width = slope * std::sqrt(variance + 0.5) + offset;
  while (true) {
    const double high = draws.real();
    const double count = mean + 0.5 + width * (draws.real() - 0.5) / high;
    if (!(count >= 0 && count < last + 1)) continue;
    const auto whole = static_cast<std::int64_t>(count);
    if (high * high <= relative(static_cast<double>(whole))) return whole;
  }
}

/// The same from 0 on, for a small mean. p < 1.
std::int64_t binomial_from_zero(std::int64_t n, double p, double left) {
  double at = 1, power = 1 - p;
  for (std::int64_t bits = n; bits > 0; bits /= 2, power *= power) at *= bits % 2 != 0 ? power : 1;
  const double odds = p / (1 - p);
  for (std::int64_t k = 0; k < n; ++k) {
    left -= at;
    if (left < 0) return k;
    at *= odds * static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (at <= 0) return k;
  }
  return n;
}

/// How many of `marked` elements are taken, one after the other.
std::int64_t one_by_one(std::int64_t all, std::int64_t marked, std::int64_t taken, Uniform& draws) {
  std::int64_t out = 0;
  for (std::int64_t i = 0; i < marked; ++i)
    out += draws.below(static_cast<std::uint64_t>(all - i)) < static_cast<std::uint64_t>(taken - out) ? 1 : 0;
  return out;
}

}  // namespace

std::int64_t draw_binomial(std::int64_t n, std::uint64_t hits, std::uint64_t all, Uniform& draws) {
  if (hits == 0 || n == 0) return 0;
  if (hits >= all) return n;
  if (hits > all - hits) return n - draw_binomial(n, all - hits, all, draws);
  const double p = static_cast<double>(hits) / static_cast<double>(all);
  const auto size = static_cast<double>(n);
  const auto mode = static_cast<std::int64_t>((size + 1) * p);
  if (mode < min_cell || n - mode < min_cell) return binomial_from_zero(n, p, draws.real());
  const auto k = static_cast<double>(mode);
  const double rest = size - k;
  const double surprise_at_mode = surprise(size, k, p);
  if (const double variance = size * p * (1 - p); variance > max_inverted) {
    return by_rejection(size * p, variance, size, draws, [=](double count) {
      if (count < min_cell || size - count < min_cell) return 0.0;
      return std::sqrt(k * rest / (count * (size - count))) * exp_minus(surprise(size, count, p) - surprise_at_mode);
    });
  }
  const double at_mode = std::sqrt(size / (2 * pi * k * rest)) * small_exp(-surprise_at_mode);
  const double odds = p / (1 - p);
  return from_mode(
      mode, at_mode, draws.real(), [=](double i) { return odds * (rest - i) / (k + 1 + i); },
      [=](double i) { return (k - i) / ((rest + 1 + i) * odds); });
}

std::int64_t draw_hypergeometric(std::int64_t all, std::int64_t marked, std::int64_t taken, Uniform& draws) {
  // Each of the four sides may be the one that is counted.
  if (2 * marked > all) return taken - draw_hypergeometric(all, all - marked, taken, draws);
  if (2 * taken > all) return marked - draw_hypergeometric(all, marked, all - taken, draws);
  if (marked > taken) std::swap(marked, taken);
  if (marked <= few) return one_by_one(all, marked, taken, draws);
  const auto n = static_cast<double>(all), of = static_cast<double>(marked), by = static_cast<double>(taken);
  const auto mode = static_cast<std::int64_t>((of + 1) * ((by + 1) / (n + 2)));
  if (mode < min_cell || marked - mode < min_cell) return one_by_one(all, marked, taken, draws);
  // The four counts: taken and not, of those that are marked and of the others.
  const auto a = static_cast<double>(mode);
  const double b = of - a, c = by - a, d = n - of - c;
  const double p = by / n;
  if (const double variance = of * p * (1 - p) * ((n - of) / (n - 1)); variance > max_inverted) {
    const double surprise_at_mode = surprise(of, a, p) + surprise(n - of, c, p);
    return by_rejection(of * p, variance, of, draws, [=](double count) {
      const double not_taken = of - count, others = by - count, left = n - of - others;
      if (std::min({count, not_taken, others, left}) < min_cell) return 0.0;
      return std::sqrt((a / count) * (b / not_taken) * (c / others) * (d / left)) *
             exp_minus(surprise(of, count, p) + surprise(n - of, others, p) - surprise_at_mode);
    });
  }
  const double size = (of / a / b) * ((n - of) / c / d) / (n / by / (n - by));
  const double at_mode =
      std::sqrt(size / (2 * pi)) * small_exp(surprise(n, by, p) - surprise(of, a, p) - surprise(n - of, c, p));
  return from_mode(
      mode, at_mode, draws.real(), [=](double i) { return (b - i) * (c - i) / ((a + 1 + i) * (d + 1 + i)); },
      [=](double i) { return (a - i) * (d - i) / ((b + 1 + i) * (c + 1 + i)); });
}

}  // namespace forebay::combine
