// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/draw.h"

namespace forebay::orders {

/// Random numbers one after the other. One thread at a time.
class Draws {
 public:
  virtual ~Draws() = default;
  /// Uniform in 0 … max.
  [[nodiscard]] virtual std::uint32_t up_to(std::uint32_t max) = 0;
};

/// Those of a run: functions of a key and their number.
class KeyedDraws final : public Draws {
 public:
  explicit KeyedDraws(std::uint64_t key) : key_{key} {}
  std::uint32_t up_to(std::uint32_t max) override {
    return static_cast<std::uint32_t>(below(draw_at(key_, next_++), std::uint64_t{max} + 1));
  }

 private:
  const std::uint64_t key_;
  std::uint64_t next_ = 0;
};

/// Those of numpy.random.RandomState(seed): the Mersenne Twister MT19937 with 32 bits, seeded by one number
/// (Matsumoto, Nishimura: Mersenne Twister, ACM TOMACS 8, 1998), and numbers below a bound by masks and rejection.
class LegacyDraws final : public Draws {
 public:
  explicit LegacyDraws(std::uint32_t seed);
  std::uint32_t up_to(std::uint32_t max) override;

 private:
  static constexpr std::size_t words = 624;
  [[nodiscard]] std::uint32_t next();
  void refill();

  std::array<std::uint32_t, words> state_;
  std::size_t at_ = words;
};

}  // namespace forebay::orders
