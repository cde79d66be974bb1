// SPDX-License-Identifier: Apache-2.0
#include "columns/packed.h"

#if defined(__x86_64__)

#include <array>

#include <immintrin.h>

#include "columns/wire.h"

#define FOREBAY_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt")))

namespace forebay::columns {
namespace {

/// One bit per byte that ends a varint.
FOREBAY_AVX2 inline std::uint32_t ends_of(const std::uint8_t* at) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
}

FOREBAY_AVX2 std::size_t count(const std::uint8_t* at, std::size_t size) {
  std::size_t ends = 0;
  for (; size >= 32; at += 32, size -= 32) ends += static_cast<std::size_t>(_mm_popcnt_u32(ends_of(at)));
  return ends + static_cast<std::size_t>(_mm_popcnt_u32(_bzhi_u32(ends_of(at), static_cast<std::uint32_t>(size))));
}

FOREBAY_AVX2 inline std::int64_t join(std::uint64_t word, std::uint32_t size) {
  return static_cast<std::int64_t>(_pext_u64(_bzhi_u64(word, size * 8), 0x7f7f7f7f7f7f7f7f));
}

FOREBAY_AVX2 inline void widen(const std::uint8_t* at, std::int64_t* out) {
  for (int i = 0; i < 8; ++i) {
    std::int32_t four;
    std::memcpy(&four, at + 4 * i, 4);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * i), _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four)));
  }
}

/// Decodes the varints that end in one 32-byte block; none is longer than 8 bytes. Writes four at a time while there is
/// `room` for the surplus, because the number of varints in a block is hard to predict.
FOREBAY_AVX2 inline void walk(const std::uint8_t* at, std::uint32_t ends, std::int64_t* out, std::size_t values,
                              std::size_t room) {
  std::uint32_t begin = 0;
  const auto next = [&]() FOREBAY_AVX2 {
    const std::uint32_t end = _tzcnt_u32(ends) + 1;
    *out++ = join(load64(at + begin), end - begin);
    begin = end;
    ends = _blsr_u32(ends);
  };
  if (room < values + 3) {
    for (; values > 0; --values) next();
    return;
  }
  for (std::size_t i = 0; i < values; i += 4) next(), next(), next(), next();
}

/// How to decode 8 bytes. Each set bit of the table's index ends a varint of one or two bytes.
struct Pairs {
  alignas(16) std::array<std::uint8_t, 16> bytes{};  ///< Two for each varint: which byte, or 0x80 for none.
  std::uint32_t values = 0;
  std::uint32_t used = 0;  ///< Bytes.
};

constexpr std::array<Pairs, 256> make_pairs() {
  std::array<Pairs, 256> all;
  for (std::uint32_t ends = 0; ends < all.size(); ++ends) {
    Pairs& pairs = all[ends];
    pairs.bytes.fill(0x80);
    while (pairs.used < 8) {
      const bool one = (ends >> pairs.used & 1) != 0;
      if (!one && (ends >> pairs.used & 2) == 0) break;  // it ends after the 8 bytes
      pairs.bytes[2 * pairs.values] = static_cast<std::uint8_t>(pairs.used);
      if (!one) pairs.bytes[2 * pairs.values + 1] = static_cast<std::uint8_t>(pairs.used + 1);
      pairs.used += one ? 1 : 2;
      ++pairs.values;
    }
  }
  return all;
}

constexpr std::array<Pairs, 256> pairs_of = make_pairs();
constexpr std::size_t max_pairs = 8;  // varints of a Pairs; always as many are written

/// As `walk`, for varints of one or two bytes. Requires room for max_pairs more.
FOREBAY_AVX2 inline void walk_short(const std::uint8_t* at, std::uint32_t ends, std::int64_t* out, std::size_t values) {
  const __m128i sevens = _mm_set1_epi8(0x7f);
  const __m128i weights = _mm_set1_epi16(static_cast<short>(0x8001));  // 1 and 128
  for (const std::int64_t* const end = out + values; out < end;) {
    const Pairs& pairs = pairs_of[ends & 0xff];
    const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(pairs.bytes.data()));
    const __m128i bytes = _mm_and_si128(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)), sevens);
    const __m128i joined = _mm_maddubs_epi16(weights, _mm_shuffle_epi8(bytes, shuffle));
    auto* const to = reinterpret_cast<__m256i*>(out);
    _mm256_storeu_si256(to, _mm256_cvtepu16_epi64(joined));
    _mm256_storeu_si256(to + 1, _mm256_cvtepu16_epi64(_mm_unpackhi_epi64(joined, joined)));
    out += pairs.values;
    at += pairs.used;
    ends >>= pairs.used;
  }
}

struct Input {
  const std::uint8_t* at;
  std::size_t size;
};

/// Decodes one varint, and the ones after it as long as they have more than 8 bytes: long varints come in sequences,
/// and as nearly all have 9 bytes, decoding of the next one can begin early. False: no room, or a varint is too long.
FOREBAY_AVX2 bool decode_long(Input& in, std::int64_t*& out, std::size_t& count) {
  constexpr std::uint64_t tops = 0x8080808080808080;
  std::uint64_t word = load64(in.at);
  do {
    if (count == 0) return false;
    std::size_t used = 9;
    std::uint64_t value = _pext_u64(word, ~tops);
    if (const std::uint64_t stop = ~word & tops; stop != 0) {
      used = static_cast<std::size_t>(_tzcnt_u64(stop)) / 8 + 1;
      value = static_cast<std::uint64_t>(join(word, static_cast<std::uint32_t>(used)));
    } else {
      value |= std::uint64_t{in.at[8]} << 56;  // its top bit, if set, is replaced by the tenth byte
      if (in.at[8] >= 0x80) {
        if (in.at[9] >= 0x80) return false;
        value = (value & ~(std::uint64_t{1} << 63)) | std::uint64_t{in.at[9]} << 63;
        used = 10;
      }
    }
    *out++ = static_cast<std::int64_t>(value);
    --count, in.at += used, in.size -= used;
    word = load64(in.at);
  } while (in.size >= 32 && (word & tops) == tops);
  return true;
}

FOREBAY_AVX2 bool decode(const std::uint8_t* at, std::size_t size, std::int64_t* out, std::size_t count) {
  Input in{at, size};
  while (in.size >= 32) {
    const std::uint32_t ends = ends_of(in.at);
    const std::uint32_t rest = ~ends;
    std::uint32_t runs = rest & rest >> 1;
    runs &= runs >> 2;
    runs &= runs >> 4;
    if (runs != 0) {  // among them is a varint of more than 8 bytes
      if (!decode_long(in, out, count)) return false;
      continue;
    }
    const auto values = static_cast<std::size_t>(_mm_popcnt_u32(ends));
    if (values > count) return false;
    if (values == 32)
      widen(in.at, out);
    else if ((rest & rest >> 1) == 0 && count >= values + max_pairs)
      walk_short(in.at, ends, out, values);
    else
      walk(in.at, ends, out, values, count);
    out += values, count -= values;
    const std::size_t used = 32 - _lzcnt_u32(ends);
    in.at += used, in.size -= used;
  }
  return packed_scalar.decode(in.at, in.size, out, count);
}

}  // namespace

constinit const PackedKernels packed_avx2{Isa::avx2, count, decode};

}  // namespace forebay::columns

#endif
