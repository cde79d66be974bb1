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

// Six rounds pass the tests of tests/base/permutation_test.cc from some hundred elements on. Digits of only a few
// values need more rounds to mix.
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
      a_{static_cast<std::uint32_t>(even_root(n))},
      b_{static_cast<std::uint32_t>(std::max<std::uint64_t>(1, n / a_ + (n % a_ != 0 ? 1 : 0)))},
      reciprocal_{std::numeric_limits<std::uint64_t>::max() / b_},
      rounds_{n < small ? max_rounds : large_rounds} {
  for (std::size_t round = 0; round < keys_.size(); ++round)
    keys_[round] = static_cast<std::uint32_t>(draw_at(mix(key), round));
}

#if defined(__x86_64__)

#define FOREBAY_AVX2 __attribute__((target("avx2")))

namespace {

FOREBAY_AVX2 inline __m256i all(std::uint32_t value) { return _mm256_set1_epi32(static_cast<int>(value)); }

/// `mix32` of eight numbers.
FOREBAY_AVX2 inline __m256i mix_eight(__m256i x) {
  x = _mm256_mullo_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 16)), all(0x21f0aaad));
  x = _mm256_mullo_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 15)), all(0xd35a2d97));
  return _mm256_xor_si256(x, _mm256_srli_epi32(x, 15));
}

/// `below32` of eight numbers.
FOREBAY_AVX2 inline __m256i below_eight(__m256i bits, __m256i bound) {
  const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(bits, bound), 32);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(bits, 32), bound);
  return _mm256_blend_epi32(even, odd, 0b10101010);
}

/// Eight sums of digits to a base.
FOREBAY_AVX2 inline __m256i add_eight(__m256i digit, __m256i term, __m256i base) {
  const __m256i sum = _mm256_add_epi32(digit, term);
  return _mm256_min_epu32(sum,
                          _mm256_sub_epi32(sum, base));  // a negative difference is large when it is read as unsigned
}

/// x b + y of eight pairs, in their order.
FOREBAY_AVX2 inline void join_eight(__m256i x, __m256i y, __m256i b, std::uint64_t* out) {
  const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(x, b), _mm256_blend_epi32(y, __m256i{}, 0b10101010));
  const __m256i odd = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), b), _mm256_srli_epi64(y, 32));
  const __m256i low = _mm256_unpacklo_epi64(even, odd);   // 0 1 4 5
  const __m256i high = _mm256_unpackhi_epi64(even, odd);  // 2 3 6 7
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out) + 1, _mm256_permute2x128_si256(low, high, 0x31));
}

}  // namespace

FOREBAY_AVX2 std::size_t Permutation::map_avx2(std::uint64_t first, std::span<std::uint64_t> out) const {
  constexpr std::size_t vectors = 3;  // several vectors hide the latency of the multiplications
  constexpr std::size_t lanes = 8 * vectors;
  const __m256i a = all(a_);
  const __m256i b = all(b_);
  Pair next = split(first);
  std::size_t done = 0;
  for (; done + lanes <= out.size(); done += lanes) {
    alignas(32) std::uint32_t xs[lanes];
    alignas(32) std::uint32_t ys[lanes];
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
        x[i] = add_eight(x[i], below_eight(mix_eight(_mm256_add_epi32(y[i], all(keys_[round]))), a), a);
      for (std::size_t i = 0; i < vectors; ++i)
        y[i] = add_eight(y[i], below_eight(mix_eight(_mm256_add_epi32(x[i], all(keys_[round + 1]))), b), b);
    }
    std::uint64_t* const elements = out.data() + done;
    for (std::size_t i = 0; i < vectors; ++i) join_eight(x[i], y[i], b, elements + 8 * i);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (elements[lane] >= n_) elements[lane] = walk(split(elements[lane]));
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
