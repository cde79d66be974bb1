// SPDX-License-Identifier: Apache-2.0
#include "base/permutation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace forebay {

namespace {

// Six rounds pass the tests of tests/base/permutation_test.cc from some hundred elements on; with digits of a few
// values only, it takes more to forget where they came from.
constexpr std::uint64_t small = 1U << 16;
constexpr std::size_t large_rounds = 6;

/// The smallest even number whose square is at least n; at least 2.
std::uint64_t even_root(std::uint64_t n) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  while (root > 0 && (root - 1) * (root - 1) >= n) --root;  // the double may have been rounded
  while (root * root < n) ++root;
  return std::max<std::uint64_t>(2, root + root % 2);
}

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t key)
    : n_{n},
      a_{even_root(n)},
      b_{std::max<std::uint64_t>(1, n / a_ + (n % a_ != 0 ? 1 : 0))},
      reciprocal_{std::numeric_limits<std::uint64_t>::max() / b_},
      rounds_{n < small ? most_rounds : large_rounds} {
  for (std::size_t round = 0; round < keys_.size(); ++round) keys_[round] = draw_at(mix(key), round);
}

void Permutation::map(std::uint64_t first, std::span<std::uint64_t> out) const {
  // One element is a chain of multiplications, each of which waits for the one before: several chains at once.
  constexpr std::size_t lanes = 4;
  const std::uint64_t inside = first < n_ ? std::min<std::uint64_t>(out.size(), n_ - first) : 0;
  std::size_t i = 0;
  for (; i + lanes <= inside; i += lanes) {
    std::array<Pair, lanes> at;
    for (std::size_t lane = 0; lane < lanes; ++lane) at[lane] = split(first + i + lane);
    for (std::size_t round = 0; round < rounds_; round += 2) {
      for (Pair& pair : at) turn(pair, round);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t element = at[lane].x * b_ + at[lane].y;
      out[i + lane] = element < n_ ? element : walk(at[lane]);
    }
  }
  for (; i < out.size(); ++i) out[i] = (*this)(first + i);
}

}  // namespace forebay
