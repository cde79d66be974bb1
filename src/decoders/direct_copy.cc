// SPDX-License-Identifier: Apache-2.0
#include "decoders/direct_copy.h"

#include "base/cpu.h"

#if defined(__x86_64__)

#include <array>
#include <cstring>

#include <immintrin.h>

#include "columns/wire.h"

#define FOREBAY_AVX2 __attribute__((target("avx2,bmi,bmi2")))

namespace forebay::decoders {
namespace {

FOREBAY_AVX2 inline __m256i load(const std::array<std::uint8_t, Expected::bytes>& from) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(from.data()));
}

/// Expected::match for all 32 bytes at once, with AVX2.
FOREBAY_AVX2 inline bool matches(const Expected& expected, const std::uint8_t* p) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i length = _mm256_min_epu8(_mm256_set1_epi8(static_cast<char>(p[1])), _mm256_set1_epi8(127));
  const __m256i sums = _mm256_add_epi8(load(expected.base), _mm256_and_si256(load(expected.grows), length));
  return _mm256_testz_si256(_mm256_xor_si256(bytes, sums), load(expected.mask)) != 0;
}

/// Joins the low 7 bits of each of 8 bytes; the top bits must be 0. PEXT is hardly faster here, and slow on some
/// processors (fast_pext).
FOREBAY_AVX2 inline std::uint64_t join_sevens(std::uint64_t word) {
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(word));
  const __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi16(static_cast<short>(0x8001)), bytes);
  const auto fours = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_madd_epi16(pairs, _mm_set1_epi32(0x40000001))));
  return (fours & 0xffffffff) | fours >> 32 << 28;
}

/// columns::varint_of_size for one to eight bytes, with BMI2. False: the varint does not have `size` bytes.
FOREBAY_AVX2 inline bool varint_of_size(const std::uint8_t* at, std::size_t size, std::uint64_t& value) {
  constexpr std::uint64_t tops = 0x8080808080808080;
  if (size - 1 >= 8) return false;
  const std::uint64_t word = columns::load64(at);
  value = join_sevens(_bzhi_u64(word & ~tops, static_cast<std::uint32_t>(8 * size)));
  return _bzhi_u64(word & tops, static_cast<std::uint32_t>(8 * size)) ==
         _bzhi_u64(tops, static_cast<std::uint32_t>(8 * size - 8));
}

/// Stores the values of an entry at `to`. False: this kernel does not handle the action or the size.
FOREBAY_AVX2 inline bool store(Action action, const std::uint8_t* values, std::size_t size, std::size_t row_bytes,
                               std::byte* to) {
  if (action == Action::one_int) {
    std::uint64_t value;
    if (!varint_of_size(values, size, value)) return false;
    __builtin_memcpy(to, &value, sizeof(value));
    return true;
  }
  if (action != Action::copy || size != row_bytes) return false;
  // Not std::memcpy, whose check of _FORTIFY_SOURCE costs each entry three instructions: the size was compared above.
  if (size == 4) {
    __builtin_memcpy(to, values, 4);
  } else if (size != 0) {
    __builtin_memcpy(to, values, size);
  }
  return true;
}

/// Copies the entries of a record that follow the layout, from `run.head` on, and moves `run` after them. Stops at the
/// first entry that needs another way. Returns whether that entry matches its template.
FOREBAY_AVX2 bool straight_avx2(StraightRun& run) {
  const MessageTemplate* head = run.head;
  const MessageTemplate* const last = run.layout->end();
  const std::uint8_t* p = run.at;
  const std::uint8_t* const end = run.end;
  const auto row = static_cast<std::size_t>(run.row);
  const std::uint64_t stamp = run.stamp;
  std::size_t found = run.found;
  bool matched = false;
  for (; p != end && head != last; ++head) {
    if (!matches(head->expected, p)) break;
    if (head->bytes > Expected::bytes && !run.layout->tail_matches(*head, p)) break;
    matched = true;
    const std::size_t size = head->payload_of(p);
    if (head->bytes + size > static_cast<std::size_t>(end - p)) break;
    const std::uint8_t* const values = p + head->bytes;
    if (head->action != Action::skip) {
      Sink& sink = run.sinks[head->target];
      if (sink.seen == stamp || !store(head->action, values, size, sink.row_bytes, sink.rows + row * sink.row_bytes))
        break;
      sink.seen = stamp;
      ++found;
    }
    p = values + size;
    matched = false;
  }
  run.head = head;
  run.at = p;
  run.found = found;
  return matched;
}

}  // namespace

StraightKernel straight_kernel() { return isa() == Isa::scalar ? nullptr : straight_avx2; }

}  // namespace forebay::decoders

#else

namespace forebay::decoders {

StraightKernel straight_kernel() { return nullptr; }

}  // namespace forebay::decoders

#endif
