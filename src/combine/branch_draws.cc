// SPDX-License-Identifier: Apache-2.0
#include "combine/branch_draws.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/draw.h"
#include "combine/counts_drawn.h"

namespace forebay::combine {

namespace {

constexpr int first_level = 4;  // of the first region: 256 · 2^4 rows

/// The key of what a part of 256 · 2^level rows draws; of a region with `whole`.
std::uint64_t key_at(std::uint64_t key, int level, bool whole, std::int64_t part) {
  return draw_at(mix(key + static_cast<std::uint64_t>(2 * level + (whole ? 1 : 0))), static_cast<std::uint64_t>(part));
}

}  // namespace

BranchDraws::BranchDraws(std::uint64_t key, std::vector<std::uint64_t> weights)
    : key_{key}, weights_{std::move(weights)}, halves_(max_level) {}

/// The counts of the region of 256 · 2^level rows that begins at `row`.
const BranchDraws::Counts& BranchDraws::of_region(std::int64_t row, int level) {
  if (std::exchange(region_row_, row) == row) return region_;
  region_.assign(weights_.size(), 0);
  Uniform draws{key_at(key_, level, true, row)};
  std::int64_t left = block_rows << level;
  std::uint64_t all = std::accumulate(weights_.begin(), weights_.end(), std::uint64_t{0});
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    region_[i] = draw_binomial(left, weights_[i], all, draws);
    left -= region_[i];
    all -= weights_[i];
  }
  return region_;
}

/// The counts of part `part` of 256 · 2^level rows.
const BranchDraws::Counts& BranchDraws::of_part(std::int64_t part, int level) {
  const auto row = part * (block_rows << level);
  const int row_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(row)));
  if (level == std::clamp(row_bits - 1 - block_bits, first_level, max_level)) return of_region(row, level);
  Halves& halves = halves_[static_cast<std::size_t>(level)];
  if (halves.part != part / 2) {
    halve(of_part(part / 2, level + 1), block_rows << (level + 1), key_at(key_, level, false, part / 2), halves);
    halves.part = part / 2;
  }
  return part % 2 == 0 ? halves.left : halves.right;
}

/// Deals the counts of `rows` rows to the halves of these.
void BranchDraws::halve(const Counts& whole, std::int64_t rows, std::uint64_t key, Halves& out) const {
  Uniform draws{key};
  out.left.resize(whole.size());
  out.right.resize(whole.size());
  std::int64_t all = rows, taken = rows / 2;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::int64_t marked = whole[i];
    out.left[i] = marked == all ? taken : draw_hypergeometric(all, marked, taken, draws);
    out.right[i] = marked - out.left[i];
    all -= marked;
    taken -= out.left[i];
  }
}

/// Makes the block of the present row.
void BranchDraws::shuffle() {
  const std::int64_t part = row_ / block_rows;
  const Counts& counts = of_part(part, 0);
  auto* at = block_.data();
  for (std::size_t i = 0; i < counts.size(); ++i) at = std::fill_n(at, counts[i], static_cast<std::uint8_t>(i));
  Uniform draws{key_at(key_, max_level, false, part)};
  for (std::uint32_t i = block_rows - 1; i > 0; --i)
    std::swap(block_[i], block_[below32(static_cast<std::uint32_t>(draws.bits() >> 32), i + 1)]);
}

/// Passes over the largest part that begins at the present row and fits; returns its rows, or 0.
std::int64_t BranchDraws::pass_part(std::int64_t n, std::span<const std::int64_t> left,
                                    std::span<std::int64_t> counts) {
  if (row_ % block_rows != 0 || n < block_rows) return 0;
  const std::int64_t block = row_ / block_rows;
  const int largest = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n / block_rows))) - 1;
  const int aligned = row_ == 0 ? first_level : std::countr_zero(static_cast<std::uint64_t>(block));
  for (int level = std::min({largest, aligned, max_level}); level >= 0; --level) {
    const Counts& part = of_part(block >> level, level);
    bool fits = true;
    for (std::size_t i = 0; i < part.size() && fits; ++i) fits = part[i] <= left[i] - counts[i];
    if (!fits) continue;
    for (std::size_t i = 0; i < part.size(); ++i) counts[i] += part[i];
    row_ += block_rows << level;
    return block_rows << level;
  }
  return 0;
}

std::int64_t BranchDraws::pass_over(std::int64_t n, std::span<const std::int64_t> left,
                                    std::span<std::int64_t> counts) {
  std::int64_t passed = 0;
  while (passed < n) {
    if (const std::int64_t rows = pass_part(n - passed, left, counts); rows > 0) {
      passed += rows;
      continue;
    }
    const std::size_t branch = next();
    if (counts[branch] == left[branch]) {
      --row_;
      break;
    }
    ++counts[branch];
    ++passed;
  }
  return passed;
}

}  // namespace forebay::combine
