// SPDX-License-Identifier: Apache-2.0
#include "columns/packed.h"

#if defined(__x86_64__)

// g++ 12 warns about the deliberately undefined registers inside its own header.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#define FOREBAY_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt")))

namespace forebay::columns {
namespace {

FOREBAY_AVX512 inline __mmask64 first_bytes(std::size_t size) {
  return _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(size));
}

FOREBAY_AVX512 inline __m512i repeat(std::uint64_t word) { return _mm512_set1_epi64(static_cast<long long>(word)); }

FOREBAY_AVX512 std::size_t count(const std::uint8_t* at, std::size_t size) {
  std::size_t ends = 0;
  for (; size >= 64; at += 64, size -= 64) {
    ends += static_cast<std::size_t>(_mm_popcnt_u64(~_mm512_movepi8_mask(_mm512_loadu_si512(at))));
  }
  const __mmask64 rest = first_bytes(size);
  return ends +
         static_cast<std::size_t>(_mm_popcnt_u64(~_mm512_movepi8_mask(_mm512_maskz_loadu_epi8(rest, at)) & rest));
}

/// A block of 64 bytes, and the places where varints begin and end in it.
struct Block {
  __m512i bytes;
  __m512i begins;
  __m512i ends;
};

/// Values 8g … 8g + 7 of a block. Long: varints of 9 and 10 bytes may be among them.
template <bool Long>
FOREBAY_AVX512 inline __m512i eight(const Block& block, __m512i lanes) {
  const __m512i step = repeat(0x0706050403020100);
  const __m512i begin = _mm512_permutexvar_epi8(lanes, block.begins);
  const __m512i end = _mm512_permutexvar_epi8(lanes, block.ends);
  const __m512i from = _mm512_add_epi8(begin, step);
  const __mmask64 inside = _mm512_cmple_epu8_mask(from, end);
  __m512i sevens = _mm512_maskz_permutexvar_epi8(inside, from, block.bytes);
  sevens = _mm512_and_si512(sevens, _mm512_set1_epi8(0x7f));
  // The factors 1 and 128 are the unsigned operand: 128 does not fit in the signed one.
  const __m512i fourteens = _mm512_maddubs_epi16(_mm512_set1_epi16(static_cast<short>(0x8001)), sevens);
  const __m512i halves = _mm512_madd_epi16(fourteens, _mm512_set1_epi32(0x40000001));
  __m512i value = _mm512_or_si512(_mm512_and_si512(halves, repeat(0xffffffff)),
                                  _mm512_slli_epi64(_mm512_srli_epi64(halves, 32), 28));
  if constexpr (Long) {
    const __m512i ninth = _mm512_add_epi8(begin, repeat(0x0808080808080908));
    const __mmask64 there = _mm512_cmple_epu8_mask(ninth, end) & 0x0303030303030303;
    const __m512i tops = _mm512_maskz_permutexvar_epi8(there, ninth, block.bytes);
    value = _mm512_or_si512(value, _mm512_slli_epi64(_mm512_and_si512(tops, repeat(0x7f)), 56));
    value = _mm512_or_si512(value, _mm512_slli_epi64(_mm512_srli_epi64(tops, 8), 63));
  }
  return value;
}

/// Writes whole groups of eight while there is `room`, because the number of varints in the last group is hard to
/// predict.
template <bool Long>
FOREBAY_AVX512 inline void store(const Block& block, std::int64_t* out, std::size_t values, std::size_t room) {
  __m512i lanes = _mm512_set_epi64(0x0707070707070707, 0x0606060606060606, 0x0505050505050505, 0x0404040404040404,
                                   0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
  const std::size_t whole = room >= ((values + 7) & ~std::size_t{7}) ? values : values & ~std::size_t{7};
  std::size_t i = 0;
  for (; i < whole; i += 8) {
    _mm512_storeu_si512(out + i, eight<Long>(block, lanes));
    lanes = _mm512_add_epi8(lanes, _mm512_set1_epi8(8));
  }
  if (i < values) {
    const auto rest = static_cast<__mmask8>((1U << (values - i)) - 1);
    _mm512_mask_storeu_epi64(out + i, rest, eight<Long>(block, lanes));
  }
}

/// 64 varints of one byte each.
FOREBAY_AVX512 inline void widen(const std::uint8_t* at, std::int64_t* out) {
  for (int i = 0; i < 64; i += 8) {
    _mm512_storeu_si512(out + i, _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + i))));
  }
}

/// Whether the block has `length` continuation bytes in a row.
template <int length>
FOREBAY_AVX512 inline bool run_of(std::uint64_t rest) {
  std::uint64_t runs = rest & rest >> 1;
  runs &= runs >> 2;
  runs &= runs >> 4;
  if constexpr (length == 10) runs &= rest >> 8 & rest >> 9;
  return runs != 0;
}

FOREBAY_AVX512 bool decode(const std::uint8_t* at, std::size_t size, std::int64_t* out, std::size_t count) {
  const __m512i iota = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
                                        0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
  const __m512i before = _mm512_sub_epi8(iota, _mm512_set1_epi8(1));
  while (size > 0) {
    const __mmask64 valid = first_bytes(size < 64 ? size : 64);
    const __m512i bytes = _mm512_maskz_loadu_epi8(valid, at);
    const std::uint64_t ends = ~_mm512_movepi8_mask(bytes) & valid;
    const std::uint64_t rest = ~ends & valid;
    const auto values = static_cast<std::size_t>(_mm_popcnt_u64(ends));
    if (ends == 0 || values > count || run_of<10>(rest)) return false;
    if (values == 64) {
      widen(at, out);
      at += 64, size -= 64, out += 64, count -= 64;
      continue;
    }
    Block block{bytes, {}, _mm512_maskz_compress_epi8(ends, iota)};
    block.begins =
        _mm512_add_epi8(_mm512_maskz_permutexvar_epi8(~std::uint64_t{1}, before, block.ends), _mm512_set1_epi8(1));
    block.begins = _mm512_maskz_mov_epi8(~std::uint64_t{1}, block.begins);
    if (run_of<8>(rest))
      store<true>(block, out, values, count);
    else
      store<false>(block, out, values, count);
    out += values, count -= values;
    const std::size_t used = 64 - _lzcnt_u64(ends);
    at += used, size -= used;
  }
  return count == 0;
}

}  // namespace

constinit const PackedKernels packed_avx512{Isa::avx512, count, decode};

}  // namespace forebay::columns

#endif
