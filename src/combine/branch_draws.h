// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::combine {

/// A branch for each of a sequence of rows, drawn independently with given weights, so that how often each branch comes
/// before any row is known without the rows before it: in a time that grows with the logarithm of their number (ADR
/// 76).
///
///     regions [0, 2^12), [2^12, 2^13), [2^13, 2^14) … up to 2^32 rows: counts by branch ~ multinomial
///       halves                                                 ─► counts of the left one ~ hypergeometric
///         … blocks of 256 rows                                 ─► their branches, shuffled
///
/// Multinomial counts that are halved so and shuffled are independent draws. What a region, a half or a block draws
/// depends on the key and its place alone.
class BranchDraws {
 public:
  using Counts = std::vector<std::int64_t>;

  /// A branch with weight 0 is never drawn. At most 255 branches, with a sum of weights above 0.
  BranchDraws(std::uint64_t key, std::vector<std::uint64_t> weights);

  /// The branch of the next row.
  [[nodiscard]] std::size_t next() {
    const std::size_t in_block = static_cast<std::size_t>(row_) % block_rows;
    if (in_block == 0) shuffle();
    ++row_;
    return block_[in_block];
  }
  /// Passes over rows, at most `n`, as long as each branch comes at most `left` times, and adds to `counts` how often
  /// each one came. Returns how many rows.
  std::int64_t pass_over(std::int64_t n, std::span<const std::int64_t> left, std::span<std::int64_t> counts);

 private:
  static constexpr int block_bits = 8;
  static constexpr std::int64_t block_rows = 1 << block_bits;
  static constexpr int max_level = 24;  // of a region: 256 · 2^24 = 2^32 rows

  /// The counts of both halves of a part of 2^(level + 1) blocks.
  struct Halves {
    std::int64_t part = -1;  // its number among those of its size; -1: none yet
    Counts left, right;
  };

  const Counts& of_region(std::int64_t row, int level);
  const Counts& of_part(std::int64_t part, int level);
  void halve(const Counts& whole, std::int64_t rows, std::uint64_t key, Halves& out) const;
  void shuffle();
  std::int64_t pass_part(std::int64_t n, std::span<const std::int64_t> left, std::span<std::int64_t> counts);

  const std::uint64_t key_;
  const std::vector<std::uint64_t> weights_;
  std::int64_t row_ = 0;
  std::int64_t region_row_ = -1;  // where the region begins that `region_` is of
  Counts region_;
  std::vector<Halves> halves_;                    // by level of the halves
  std::array<std::uint8_t, block_rows> block_{};  // of the row before `row_`
};

}  // namespace forebay::combine
