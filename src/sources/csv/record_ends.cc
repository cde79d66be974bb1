// SPDX-License-Identifier: Apache-2.0
// The ends of records by the parity of quotes, 64 bytes at a time.
//
//     bytes      a , " b , LF " , c LF
//     quotes         1        1           ─► xor of all bits before and at each: inside  0 0 1 1 1 1 0 0 0 0
//     feeds                1          1   ─► not inside: the second one ends the record
//
// That is right as long as each quote that opens comes after a delimiter, after the end of a record, or after the quote
// that closed (two quotes are one of the text). Anything else is unusual.
#include "sources/csv/record_ends.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace forebay::sources {
namespace {

FoundEnds ends_portable(std::span<const std::byte> bytes, const CsvRules& rules, std::span<std::uint32_t> out) {
  FoundEnds found;
  for (std::size_t at = 0; found.count < out.size() && at < bytes.size();) {
    const RecordEnd end = end_of_record(bytes.subspan(at), rules);
    if (at + end.at == bytes.size()) break;
    out[found.count++] = static_cast<std::uint32_t>(at + end.at);
    at += end.at + 1;
  }
  return found;
}

#if defined(__x86_64__)
#define FOREBAY_ENDS __attribute__((target("avx2,bmi")))

struct Bits {
  std::uint64_t feeds = 0;
  std::uint64_t quotes = 0;
  std::uint64_t delimiters = 0;
};

FOREBAY_ENDS inline std::uint64_t equal(const __m256i& low, const __m256i& high, char wanted) {
  const __m256i each = _mm256_set1_epi8(wanted);
  const auto first = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, each)));
  const auto second = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, each)));
  return first | std::uint64_t{second} << 32;
}

FOREBAY_ENDS inline Bits bits_of(const std::byte* at, const CsvRules& rules) {
  const auto* const words = reinterpret_cast<const __m256i*>(at);
  const __m256i low = _mm256_loadu_si256(words);
  const __m256i high = _mm256_loadu_si256(words + 1);
  Bits out{.feeds = equal(low, high, '\n')};
  if (rules.quotes) {
    out.quotes = equal(low, high, '"');
    out.delimiters = equal(low, high, rules.delimiter);
  }
  return out;
}

/// Bit i of the result is the parity of the bits 0 … i.
std::uint64_t parity_up_to(std::uint64_t bits) {
  for (const int shift : {1, 2, 4, 8, 16, 32}) bits ^= bits << shift;
  return bits;
}

/// What the bytes before a block say about it.
struct Before {
  std::uint64_t inside = 0;    ///< All bits set: in a quoted field.
  std::uint64_t may_open = 1;  ///< 1: a quote may open at the first byte.
};

/// Leaves out the line feeds in quoted fields. Returns the first bit that is unusual, or 64.
std::size_t take_quotes(Bits& bits, Before& before) {
  std::uint64_t closes = 0;
  std::uint64_t unusual = 0;
  std::uint64_t inside = before.inside;
  if (bits.quotes != 0) {
    inside ^= parity_up_to(bits.quotes);
    closes = bits.quotes & ~inside;
    const std::uint64_t after = bits.delimiters | bits.feeds | closes;
    unusual = bits.quotes & inside & ~(after << 1 | before.may_open);
  }
  bits.feeds &= ~inside;
  before.may_open = (bits.delimiters | bits.feeds | closes) >> 63;
  before.inside = 0 - (inside >> 63);
  const auto first = static_cast<std::size_t>(std::countr_zero(unusual));
  if (unusual != 0) bits.feeds &= (std::uint64_t{1} << first) - 1;
  return first;
}

FOREBAY_ENDS FoundEnds ends_avx2(std::span<const std::byte> bytes, const CsvRules& rules,
                                 std::span<std::uint32_t> out) {
  constexpr std::size_t step = 64;
  FoundEnds found;
  Before before;
  std::array<std::byte, step> rest{};
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const std::size_t left = bytes.size() - at;
    if (left < step) std::memcpy(rest.data(), bytes.data() + at, left);
    Bits bits = bits_of(left < step ? rest.data() : bytes.data() + at, rules);
    const std::size_t first = take_quotes(bits, before);
    for (; bits.feeds != 0; bits.feeds = _blsr_u64(bits.feeds)) {
      if (found.count == out.size()) return found;
      out[found.count++] = static_cast<std::uint32_t>(at + _tzcnt_u64(bits.feeds));
    }
    found.unusual = first < step;
    if (found.unusual || found.count == out.size()) return found;
  }
  return found;
}
#endif

}  // namespace

FoundEnds find_record_ends(std::span<const std::byte> bytes, const CsvRules& rules, std::span<std::uint32_t> out) {
  static const FindRecordEnds best = record_end_twins().back();
  return best(bytes, rules, out);
}

std::span<const FindRecordEnds> record_end_twins() {
#if defined(__x86_64__)
  static constexpr std::array<FindRecordEnds, 2> all{ends_portable, ends_avx2};
  return std::span{all}.first(isa() == Isa::scalar ? 1 : 2);
#else
  static constexpr std::array<FindRecordEnds, 1> all{ends_portable};
  return all;
#endif
}

}  // namespace forebay::sources
