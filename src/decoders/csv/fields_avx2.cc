// SPDX-License-Identifier: Apache-2.0
// The kernel for AVX2: one load finds the end of a field, its point and its digits.
//
//     "-12.375,7,"   ─► sign, 12.375   ─► without the point, at the right end: 0000000000012375
//                                      ─► pairs, fours and eights of digits by multiply and add ─► 12375, 3 decimals
#include <algorithm>
#include <array>

#include "decoders/csv/digits.h"
#include "decoders/csv/fields.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace forebay::decoders {
namespace {

#define FOREBAY_CSV __attribute__((target("avx2,bmi,bmi2")))

constexpr std::size_t width = 16;

using Shuffle = std::array<std::uint8_t, width>;

/// By the length of a number and the place of its point (the length: no point): moves its digits to the right end.
constexpr auto make_shuffles() {
  std::array<std::array<Shuffle, width>, width> out{};
  for (std::size_t length = 0; length < width; ++length) {
    for (std::size_t point = 0; point < width; ++point) {
      std::size_t to = width;
      for (auto& each : out[length][point]) each = 0x80;
      for (std::size_t from = length; from-- > 0;) {
        if (from != point) out[length][point][--to] = static_cast<std::uint8_t>(from);
      }
    }
  }
  return out;
}
constexpr auto shuffles = make_shuffles();

FOREBAY_CSV inline std::uint32_t bits(__m128i bytes) { return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes)); }

/// The number of 16 digits.
FOREBAY_CSV inline std::uint64_t number_of(__m128i digits) {
  const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010a));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
  const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
  return (both & 0xffffffffU) * 100000000U + (both >> 32);
}

/// Reads a number of at most 15 characters after the sign, at `at` and up to the character that ends it or to `end`.
/// Returns its length with the sign; 0 when it has another form. `fraction`: it may have a point.
[[gnu::always_inline]] FOREBAY_CSV inline std::size_t read_number(const char* at, const char* end, __m128i ends,
                                                                  bool fraction, Digits& out) {
  out.negative = *at == '-';
  const char* const first = at + (out.negative ? 1 : 0);
  const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const auto left = static_cast<std::size_t>(end - first);
  const std::size_t length = std::min<std::size_t>(_tzcnt_u32(bits(_mm_cmpeq_epi8(text, ends)) | 1U << width), left);
  if (length - 1 >= max_digits) return 0;
  const std::uint32_t inside = (1U << length) - 1;
  const __m128i digits = _mm_sub_epi8(text, _mm_set1_epi8('0'));
  const __m128i low = _mm_min_epu8(digits, _mm_set1_epi8(9));
  const std::uint32_t others = ~bits(_mm_cmpeq_epi8(low, digits)) & inside;
  const std::uint32_t points = bits(_mm_cmpeq_epi8(text, _mm_set1_epi8('.'))) & inside;
  if (others != (fraction ? points : 0) || (points & (points - 1)) != 0 || points == inside) return 0;
  const std::size_t point = _tzcnt_u32(points | 1U << length);
  const auto* const shuffle = reinterpret_cast<const __m128i*>(shuffles[length][point].data());
  out.value = number_of(_mm_shuffle_epi8(digits, _mm_loadu_si128(shuffle)));
  out.decimals = static_cast<unsigned>(length - point - (points != 0 ? 1 : 0));
  return length + (out.negative ? 1 : 0);
}

/// Reads and writes a number in quotes, and returns its length with them; 0 for another form. Not inlined: the way of
/// plain numbers stays as short as it is.
[[gnu::noinline]] FOREBAY_CSV std::size_t take_quoted_number(const char* at, const char* end, const CsvSyntax& syntax,
                                                             const CsvTarget& target, std::size_t row) {
  if (!syntax.quotes || *at != '"' || at + 1 == end) return 0;
  Digits digits;
  const std::size_t inside = read_number(at + 1, end, _mm_set1_epi8('"'), has_fraction(target.kernel), digits);
  const char* const after = at + inside + 2;
  if (inside == 0 || after > end || after[-1] != '"') return 0;
  if (after != end && *after != syntax.delimiter) return 0;
  return write_digits(digits, target, row) ? inside + 2 : 0;
}

/// The length of a field without quotes, CR and LF; more than `left` when it has another form.
FOREBAY_CSV inline std::size_t plain_length(const char* at, std::size_t left, __m256i delimiter,
                                            const CsvSyntax& syntax) {
  const __m256i quote = _mm256_set1_epi8(syntax.quotes ? '"' : '\n');
  for (std::size_t from = 0;; from += 32) {
    const __m256i text = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + from));
    const __m256i ends = _mm256_cmpeq_epi8(text, delimiter);
    const __m256i feeds = _mm256_or_si256(_mm256_cmpeq_epi8(text, _mm256_set1_epi8('\n')),
                                          _mm256_cmpeq_epi8(text, _mm256_set1_epi8('\r')));
    const __m256i wrong = _mm256_or_si256(feeds, _mm256_cmpeq_epi8(text, quote));
    const auto all = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(ends, wrong)));
    const std::size_t length = from + _tzcnt_u32(all);
    if (length >= left) return left;
    if (all == 0) continue;
    return at[length] == syntax.delimiter ? length : left + 1;
  }
}

/// The length of a field in quotes that begins at `at` and has no quote inside; more than `left` when it has another
/// form.
FOREBAY_CSV inline std::size_t quoted_length(const char* at, std::size_t left, const CsvSyntax& syntax) {
  if (!syntax.quotes) return left + 1;
  const __m256i quote = _mm256_set1_epi8('"');
  for (std::size_t from = 1; from < left; from += 32) {
    const __m256i text = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + from));
    const auto found = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(text, quote)));
    if (found == 0) continue;
    const std::size_t length = from + _tzcnt_u32(found) + 1;
    return length == left || (length < left && at[length] == syntax.delimiter) ? length : left + 1;
  }
  return left + 1;
}

}  // namespace

FOREBAY_CSV CsvPlace read_fields_avx2(std::string_view record, CsvPlace from, std::span<const CsvTarget> targets,
                                      std::size_t row, const CsvSyntax& syntax) {
  const char* const begin = record.data();
  const char* const end = begin + record.size();
  const __m128i delimiter = _mm_set1_epi8(syntax.delimiter);
  const char* at = begin + from.at;
  std::size_t field = from.field;
  for (; field < targets.size() && at < end; ++field) {
    const CsvTarget& target = targets[field];
    if (target.kernel == CsvKernel::none) break;
    std::size_t length = 0;
    if (target.kernel == CsvKernel::skip) {
      const auto left = static_cast<std::size_t>(end - at);
      length = plain_length(at, left, _mm256_broadcastb_epi8(delimiter), syntax);
      if (length > left && *at == '"') length = quoted_length(at, left, syntax);
      if (length > left || length > syntax.max_field) break;
    } else {
      Digits digits;
      length = read_number(at, end, delimiter, has_fraction(target.kernel), digits);
      if (length == 0) [[unlikely]] {
        length = take_quoted_number(at, end, syntax, target, row);
        if (length == 0) break;
      } else if (!write_digits(digits, target, row)) {
        break;
      }
    }
    at += length + 1;
  }
  return {static_cast<std::size_t>(at - begin), field};
}

}  // namespace forebay::decoders
#endif
