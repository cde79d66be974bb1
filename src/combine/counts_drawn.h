// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/draw.h"

namespace forebay::combine {

/// Uniform numbers of one place of a run, one after the other: the steps of SplitMix64 from a key on.
class Uniform {
 public:
  explicit Uniform(std::uint64_t key) : state_{key} {}
  [[nodiscard]] std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15;
    return mix(state_);
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return forebay::below(bits(), bound); }
  /// In [0, 1), a multiple of 2^-53.
  [[nodiscard]] double real() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// How many of `n` draws hit, each with probability hits / all. 0 ≤ hits ≤ all, all > 0, n ≤ 2^32.
[[nodiscard]] std::int64_t draw_binomial(std::int64_t n, std::uint64_t hits, std::uint64_t all, Uniform& draws);

/// How many of `taken` elements, drawn without replacement from `all`, are among `marked` of them. 0 ≤ marked, taken ≤
/// all ≤ 2^32.
[[nodiscard]] std::int64_t draw_hypergeometric(std::int64_t all, std::int64_t marked, std::int64_t taken,
                                               Uniform& draws);

}  // namespace forebay::combine
