// SPDX-License-Identifier: Apache-2.0
#include "base/permutation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"

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

#if defined(__x86_64__)

#define FOREBAY_AVX2 __attribute__((target("avx2")))

namespace {

FOREBAY_AVX2 inline __m256i all(std::uint64_t value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }

/// x * factor, modulo 2^64.
FOREBAY_AVX2 inline __m256i times(__m256i x, std::uint64_t factor) {
  const __m256i low = all(factor);
  const __m256i high = all(factor >> 32);
  const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), low), _mm256_mul_epu32(x, high));
  return _mm256_add_epi64(_mm256_mul_epu32(x, low), _mm256_slli_epi64(cross, 32));
}

/// `mix` of four numbers.
FOREBAY_AVX2 inline __m256i mix_four(__m256i x) {
  x = _mm256_add_epi64(x, all(0x9e3779b97f4a7c15));
  x = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), 0xbf58476d1ce4e5b9);
  x = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), 0x94d049bb133111eb);
  return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

/// `below` of four numbers and a bound of at most 2^32.
FOREBAY_AVX2 inline __m256i below_four(__m256i bits, __m256i bound) {
  const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(bits, 32), bound);
  return _mm256_srli_epi64(_mm256_add_epi64(high, _mm256_srli_epi64(_mm256_mul_epu32(bits, bound), 32)), 32);
}

/// Four sums of digits to a base.
FOREBAY_AVX2 inline __m256i add_four(__m256i digit, __m256i term, __m256i base) {
  const __m256i sum = _mm256_add_epi64(digit, term);
  const __m256i less = _mm256_sub_epi64(sum, base);  // its highest bit says whether it is below 0
  return _mm256_castpd_si256(
      _mm256_blendv_pd(_mm256_castsi256_pd(less), _mm256_castsi256_pd(sum), _mm256_castsi256_pd(less)));
}

}  // namespace

FOREBAY_AVX2 std::size_t Permutation::map_avx2(std::uint64_t first, std::span<std::uint64_t> out) const {
  constexpr std::size_t vectors = 3;  // some multiply while others wait
  constexpr std::size_t lanes = 4 * vectors;
  const __m256i a = all(a_);
  const __m256i b = all(b_);
  Pair next = split(first);
  std::size_t done = 0;
  for (; done + lanes <= out.size(); done += lanes) {
    alignas(32) std::uint64_t xs[lanes];
    alignas(32) std::uint64_t ys[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      xs[lane] = next.x;
      ys[lane] = next.y;
      if (++next.y == b_) next = {next.x + 1, 0};
    }
    __m256i x[vectors];
    __m256i y[vectors];
    for (std::size_t i = 0; i < vectors; ++i) {
      x[i] = _mm256_load_si256(reinterpret_cast<const __m256i*>(xs) + i);
      y[i] = _mm256_load_si256(reinterpret_cast<const __m256i*>(ys) + i);
    }
    for (std::size_t round = 0; round < rounds_; round += 2) {
      for (std::size_t i = 0; i < vectors; ++i)
        x[i] = add_four(x[i], below_four(mix_four(_mm256_add_epi64(y[i], all(keys_[round]))), a), a);
      for (std::size_t i = 0; i < vectors; ++i)
        y[i] = add_four(y[i], below_four(mix_four(_mm256_add_epi64(x[i], all(keys_[round + 1]))), b), b);
    }
    for (std::size_t i = 0; i < vectors; ++i) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(xs) + i, x[i]);
      _mm256_store_si256(reinterpret_cast<__m256i*>(ys) + i, y[i]);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t element = xs[lane] * b_ + ys[lane];
      out[done + lane] = element < n_ ? element : walk({xs[lane], ys[lane]});
    }
  }
  return done;
}

#else

std::size_t Permutation::map_avx2(std::uint64_t, std::span<std::uint64_t>) const { return 0; }

#endif

void Permutation::map(std::uint64_t first, std::span<std::uint64_t> out) const {
  const std::uint64_t inside = first < n_ ? std::min<std::uint64_t>(out.size(), n_ - first) : 0;
  std::size_t i = isa() == Isa::scalar ? 0 : map_avx2(first, out.first(inside));
  for (; i < out.size(); ++i) out[i] = (*this)(first + i);
}

}  // namespace forebay
