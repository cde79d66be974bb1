// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// The place of a random choice. Every choice of a run is a pure function of it (docs/adr/0001).
struct Draw {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::uint64_t purpose = 0;  ///< Number of the random decision in the plan.
};

/// One step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// A mixer for 32 bits: two rounds of multiply and shift with the least biased constants known (C. Wellons,
/// "Prospecting for Hash Functions", nullprogram.com, 2018, as improved by the contributors to hash-prospector).
[[nodiscard]] constexpr std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x21f0aaad;
  x = (x ^ (x >> 15)) * 0xd35a2d97;
  return x ^ (x >> 15);
}

/// The part of a draw that stays the same during one pass; `draw_at` adds the index.
[[nodiscard]] constexpr std::uint64_t draw_key(const Draw& at) {
  return mix(mix(mix(at.seed) + at.purpose) + at.epoch);
}

[[nodiscard]] constexpr std::uint64_t draw_at(std::uint64_t key, std::uint64_t index) { return mix(key + mix(index)); }

/// 64 uniform bits.
[[nodiscard]] constexpr std::uint64_t draw(const Draw& at) { return draw_at(draw_key(at), at.index); }

__extension__ using UInt128 = unsigned __int128;

/// Maps 64 uniform bits to 0 … bound - 1 (Lemire's multiply-shift; its bias is below bound / 2^64).
[[nodiscard]] constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<UInt128>(bits) * bound) >> 64);
}

/// Maps 32 uniform bits to 0 … bound - 1; its bias is below bound / 2^32.
[[nodiscard]] constexpr std::uint32_t below32(std::uint32_t bits, std::uint32_t bound) {
  return static_cast<std::uint32_t>((std::uint64_t{bits} * bound) >> 32);
}

static_assert(draw({.seed = 7, .index = 41}) != draw({.seed = 7, .epoch = 1, .index = 41}));

}  // namespace forebay
