// SPDX-License-Identifier: Apache-2.0
#include "sources/newlines.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace forebay::sources {
namespace {

std::size_t newlines_scalar(std::span<const std::byte> bytes, std::span<std::uint32_t> out) {
  std::size_t found = 0;
  for (std::size_t at = 0; found < out.size() && at < bytes.size(); ++at) {
    const void* const end = std::memchr(bytes.data() + at, '\n', bytes.size() - at);
    if (end == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(end) - bytes.data());
    out[found++] = static_cast<std::uint32_t>(at);
  }
  return found;
}

#if defined(__x86_64__)
#define FOREBAY_NEWLINES __attribute__((target("avx2,bmi")))

/// One bit for each of 64 bytes: set for a line feed.
FOREBAY_NEWLINES inline std::uint64_t newlines_of(const std::byte* at) {
  const __m256i feed = _mm256_set1_epi8('\n');
  const auto* const words = reinterpret_cast<const __m256i*>(at);
  const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(words), feed)));
  const auto high =
      static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(words + 1), feed)));
  return low | std::uint64_t{high} << 32;
}

FOREBAY_NEWLINES std::size_t newlines_avx2(std::span<const std::byte> bytes, std::span<std::uint32_t> out) {
  constexpr std::size_t step = 64;
  std::size_t found = 0;
  std::size_t at = 0;
  const auto write = [&](std::uint64_t feeds) FOREBAY_NEWLINES {
    for (; feeds != 0 && found < out.size(); feeds = _blsr_u64(feeds))
      out[found++] = static_cast<std::uint32_t>(at + _tzcnt_u64(feeds));
  };
  for (; at + step <= bytes.size() && found < out.size(); at += step) write(newlines_of(bytes.data() + at));
  if (at >= bytes.size() || found == out.size()) return found;
  std::array<std::byte, step> rest{};
  std::memcpy(rest.data(), bytes.data() + at, bytes.size() - at);
  write(newlines_of(rest.data()));
  return found;
}
#endif

}  // namespace

std::size_t find_newlines(std::span<const std::byte> bytes, std::span<std::uint32_t> out) {
  static const FindNewlines best = newline_twins().back();
  return best(bytes, out);
}

std::span<const FindNewlines> newline_twins() {
#if defined(__x86_64__)
  static constexpr std::array<FindNewlines, 2> all{newlines_scalar, newlines_avx2};
  return std::span{all}.first(isa() == Isa::scalar ? 1 : 2);
#else
  static constexpr std::array<FindNewlines, 1> all{newlines_scalar};
  return all;
#endif
}

}  // namespace forebay::sources
