// SPDX-License-Identifier: Apache-2.0
#include "columns/packed.h"

#if defined(__x86_64__)

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

FOREBAY_AVX2 inline std::int64_t join_long(const std::uint8_t* at, std::uint32_t size) {
  const auto high = join(load64(at + 8), size - 8);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(join(load64(at), 8)) | static_cast<std::uint64_t>(high)
                                                                                         << 56);
}

FOREBAY_AVX2 inline void widen(const std::uint8_t* at, std::int64_t* out) {
  for (int i = 0; i < 8; ++i) {
    std::int32_t four;
    std::memcpy(&four, at + 4 * i, 4);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4 * i), _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four)));
  }
}

/// The varints that end in one 32-byte block, of which none is longer than 8 bytes.
FOREBAY_AVX2 inline void walk(const std::uint8_t* at, std::uint32_t ends, std::int64_t* out) {
  std::uint32_t begin = 0;
  for (; ends != 0; ends = _blsr_u32(ends)) {
    const std::uint32_t end = _tzcnt_u32(ends) + 1;
    *out++ = join(load64(at + begin), end - begin);
    begin = end;
  }
}

FOREBAY_AVX2 bool decode(const std::uint8_t* at, std::size_t size, std::int64_t* out, std::size_t count) {
  while (size >= 32) {
    const std::uint32_t ends = ends_of(at);
    const std::uint32_t rest = ~ends;
    std::uint32_t runs = rest & rest >> 1;
    runs &= runs >> 2;
    runs &= runs >> 4;
    if (runs != 0) {  // among them is a varint of more than 8 bytes: one at a time
      const std::uint32_t end = _tzcnt_u32(ends);
      if (count == 0 || end >= 10) return false;
      *out++ = end < 8 ? join(load64(at), end + 1) : join_long(at, end + 1), --count;
      at += end + 1, size -= end + 1;
      continue;
    }
    const auto values = static_cast<std::size_t>(_mm_popcnt_u32(ends));
    if (values > count) return false;
    if (values == 32)
      widen(at, out);
    else
      walk(at, ends, out);
    out += values, count -= values;
    const std::size_t used = 32 - _lzcnt_u32(ends);
    at += used, size -= used;
  }
  return packed_scalar.decode(at, size, out, count);
}

}  // namespace

constinit const PackedKernels packed_avx2{Isa::avx2, count, decode};

}  // namespace forebay::columns

#endif
