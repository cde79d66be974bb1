// SPDX-License-Identifier: Apache-2.0
#include "orders/sequences/draws.h"

#include <bit>

namespace forebay::orders {

LegacyDraws::LegacyDraws(std::uint32_t seed) {
  state_[0] = seed;
  for (std::uint32_t i = 1; i < words; ++i) {
    const std::uint32_t last = state_[i - 1];
    state_[i] = 1812433253U * (last ^ (last >> 30)) + i;
  }
}

void LegacyDraws::refill() {
  constexpr std::size_t middle = 397;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint32_t mixed = (state_[i] & 0x80000000U) | (state_[(i + 1) % words] & 0x7fffffffU);
    state_[i] = state_[(i + middle) % words] ^ (mixed >> 1) ^ ((mixed & 1) != 0 ? 0x9908b0dfU : 0U);
  }
  at_ = 0;
}

std::uint32_t LegacyDraws::next() {
  if (at_ == words) refill();
  std::uint32_t out = state_[at_++];
  out ^= out >> 11;
  out ^= (out << 7) & 0x9d2c5680U;
  out ^= (out << 15) & 0xefc60000U;
  return out ^ (out >> 18);
}

std::uint32_t LegacyDraws::up_to(std::uint32_t max) {
  if (max == 0) return 0;  // takes no number of the generator
  const std::uint32_t mask = UINT32_MAX >> std::countl_zero(max);
  while (true) {
    const std::uint32_t out = next() & mask;
    if (out <= max) return out;
  }
}

}  // namespace forebay::orders
