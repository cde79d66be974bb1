// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/draw.h"

namespace forebay {

/// A keyed permutation of 0 … n - 1 in constant memory: position → element, for every n from 0 to 2^62 and every key.
///
/// It is an unbalanced Feistel network (Luby and Rackoff, "How to Construct Pseudorandom Permutations from Pseudorandom
/// Functions", SIAM J. Comput. 1988) made for any size as in Black and Rogaway, "Ciphers with Arbitrary Finite
/// Domains", CT-RSA 2002: an index is a pair (x, y) of digits to the bases a and b, a round adds a function of one
/// digit to the other, and a result that is not below n goes through again until it is ("cycle walking"). As a b < n +
/// a, that happens to about one index in sqrt(n). Digits have at most 31 bits, so rounds compute with 32.
///
/// It is for shuffling, not for cryptography. The order that a key gives is part of the meaning of a saved state:
/// another order needs a new version of the state (docs/adr/0001).
class Permutation {
 public:
  Permutation(std::uint64_t n, std::uint64_t key);

  /// The element at position `i`. An `i` of n or more is returned unchanged.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const { return i < n_ ? walk(split(i)) : i; }

  /// The elements at positions `first`, `first` + 1, …
  void map(std::uint64_t first, std::span<std::uint64_t> out) const;

  /// The position of an element. One of n or more is returned unchanged.
  [[nodiscard]] std::uint64_t position(std::uint64_t element) const {
    return element < n_ ? walk_back(split(element)) : element;
  }

  [[nodiscard]] std::uint64_t size() const { return n_; }

 private:
  struct Pair {
    std::uint32_t x = 0;  // below a
    std::uint32_t y = 0;  // below b
  };
  static constexpr std::size_t max_rounds = 24;

  /// i / b and i % b. The quotient by the rounded reciprocal is right or one too small.
  [[nodiscard]] Pair split(std::uint64_t i) const {
    const auto x = static_cast<std::uint64_t>((static_cast<UInt128>(i) * reciprocal_) >> 64);
    const std::uint64_t y = i - x * b_;
    const bool small = y >= b_;
    return {static_cast<std::uint32_t>(x + (small ? 1 : 0)), static_cast<std::uint32_t>(y - (small ? b_ : 0))};
  }
  [[nodiscard]] std::uint64_t join(Pair at) const { return std::uint64_t{at.x} * b_ + at.y; }

  // Both are at most 2^31, so their sum has 32 bits.
  [[nodiscard]] static std::uint32_t add(std::uint32_t digit, std::uint32_t term, std::uint32_t base) {
    const std::uint32_t sum = digit + term;
    return sum >= base ? sum - base : sum;
  }

  [[nodiscard]] static std::uint32_t subtract(std::uint32_t digit, std::uint32_t term, std::uint32_t base) {
    return digit >= term ? digit - term : digit + (base - term);
  }
  /// The inverse of `walk`: the rounds from the last to the first.
  [[nodiscard]] std::uint64_t walk_back(Pair at) const {
    while (true) {
      for (std::size_t round = rounds_; round > 0; round -= 2) {
        at.y = subtract(at.y, below32(mix32(keys_[round - 1] + at.x), b_), b_);
        at.x = subtract(at.x, below32(mix32(keys_[round - 2] + at.y), a_), a_);
      }
      if (const std::uint64_t position = join(at); position < n_) return position;
    }
  }

  /// Applies all rounds until the result is below n.
  [[nodiscard]] std::uint64_t walk(Pair at) const {
    while (true) {
      for (std::size_t round = 0; round < rounds_; round += 2) {
        at.x = add(at.x, below32(mix32(keys_[round] + at.y), a_), a_);
        at.y = add(at.y, below32(mix32(keys_[round + 1] + at.x), b_), b_);
      }
      if (const std::uint64_t element = join(at); element < n_) return element;
    }
  }

  /// As `map`, for as many of the positions as fill whole vectors; all must be below n. Returns their number.
  std::size_t map_avx2(std::uint64_t first, std::span<std::uint64_t> out) const;

  std::uint64_t n_;
  std::uint32_t a_;  // even: with two odd bases no round could make an odd permutation
  std::uint32_t b_;
  std::uint64_t reciprocal_;  // of b, times 2^64
  std::size_t rounds_;        // even
  std::array<std::uint32_t, max_rounds> keys_;
};

}  // namespace forebay
