// SPDX-License-Identifier: Apache-2.0
#include "steps/image/resample_bytes.h"

#if defined(__x86_64__)

#include <cstring>

#include <immintrin.h>

#define FOREBAY_IMAGE_AVX2 __attribute__((target("avx2")))

namespace forebay::steps {

namespace {

/// Two weights side by side, in every 32 bits.
FOREBAY_IMAGE_AVX2 inline std::int32_t pair_at(const std::int16_t* weights) {
  std::int32_t pair;
  std::memcpy(&pair, weights, sizeof(pair));
  return pair;
}

FOREBAY_IMAGE_AVX2 void sum_rows_avx2(const std::uint8_t* const* rows, const std::int16_t* weights, std::int64_t taps,
                                      std::int64_t count, std::int16_t* out) {
  constexpr int shift = AxisWeights::fixed_bits - ByteKernels::between_bits;
  for (std::int64_t i = 0; i < count; i += 16) {
    __m256i low = _mm256_set1_epi32(1 << (shift - 1));
    __m256i high = low;
    for (std::int64_t k = 0; k < taps; k += 2) {
      const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[k] + i));
      const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[k + 1] + i));
      const __m256i pair = _mm256_set1_epi32(pair_at(weights + k));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)), pair));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b)), pair));
    }
    const __m256i both = _mm256_packs_epi32(_mm256_srai_epi32(low, shift), _mm256_srai_epi32(high, shift));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permute4x64_epi64(both, 0b11011000));
  }
}

/// The weighted sum of pixels of 3 or 4 channels, two at a time: the values of a channel side by side.
template <int channels>
FOREBAY_IMAGE_AVX2 inline std::uint32_t sum_pixels(const std::int16_t* in, const std::int16_t* weights,
                                                   std::int64_t taps) {
  const __m128i of_three = _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1);
  const __m128i of_four = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  __m128i sum = _mm_set1_epi32(1 << (ByteKernels::shift - 1));
  for (std::int64_t k = 0; k < taps; k += 2, in += 2 * channels) {
    const __m128i pixels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
    const __m128i pairs = _mm_shuffle_epi8(pixels, channels == 3 ? of_three : of_four);
    sum = _mm_add_epi32(sum, _mm_madd_epi16(pairs, _mm_set1_epi32(pair_at(weights + k))));
  }
  const __m128i words = _mm_packs_epi32(_mm_srai_epi32(sum, ByteKernels::shift), sum);
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_packus_epi16(words, words)));
}

template <int channels>
FOREBAY_IMAGE_AVX2 inline void put_pixel(std::uint32_t pixel, std::uint8_t* out) {
  if constexpr (channels == 4) {
    std::memcpy(out, &pixel, 4);
  } else {
    std::memcpy(out, &pixel, 2);
    out[2] = static_cast<std::uint8_t>(pixel >> 16);
  }
}

/// `fixed`: the number of taps, when all outputs are computed with so many; weights after the last one are 0. 0: each
/// output has its own number.
template <int channels, int fixed>
FOREBAY_IMAGE_AVX2 void sum_colors_avx2(const std::int16_t* row, const AxisWeights& columns, std::uint8_t* out,
                                        std::int64_t column) {
  for (std::int64_t x = 0; x < columns.outputs(); ++x, out += column) {
    const auto taps = columns.of(x);
    const std::int64_t count = fixed > 0 ? fixed : taps.count;
    put_pixel<channels>(sum_pixels<channels>(row + taps.begin * channels, taps.fixed, count), out);
  }
}

template <int channels>
FOREBAY_IMAGE_AVX2 void choose_colors_avx2(const std::int16_t* row, const AxisWeights& columns, std::uint8_t* out,
                                           std::int64_t column) {
  switch (columns.fixed_taps() / 2) {
    case 1:
      return sum_colors_avx2<channels, 2>(row, columns, out, column);
    case 2:
      return sum_colors_avx2<channels, 4>(row, columns, out, column);
    case 3:
      return sum_colors_avx2<channels, 6>(row, columns, out, column);
    case 4:
      return sum_colors_avx2<channels, 8>(row, columns, out, column);
    default:
      return sum_colors_avx2<channels, 0>(row, columns, out, column);
  }
}

FOREBAY_IMAGE_AVX2 void sum_columns_avx2(const std::int16_t* row, const AxisWeights& columns, int channels,
                                         std::uint8_t* out, std::int64_t column) {
  if (channels == 3) return choose_colors_avx2<3>(row, columns, out, column);
  if (channels == 4) return choose_colors_avx2<4>(row, columns, out, column);
  byte_kernels_scalar.sum_columns(row, columns, channels, out, column);
}

}  // namespace

constinit const ByteKernels byte_kernels_avx2{sum_rows_avx2, sum_columns_avx2};

}  // namespace forebay::steps

#endif
