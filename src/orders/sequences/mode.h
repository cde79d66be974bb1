// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <forebay/error.h>

#include <optional>

namespace forebay::orders {

/// What an order of sequences does, apart from partitions, tags and seeds.
enum class ModeKind : std::uint8_t {
  in_place,  ///< `default`
  default_every_n,
  reverse,
  sorted,
  sorted_reverse,
  random,
  random_sample,
  laplace,
  sort_bin_shuffle,
  sort_bin_shuffle_x2,
};

/// A mode with the numbers that it has. Plain data.
struct Mode {
  ModeKind kind = ModeKind::in_place;
  std::optional<std::int64_t> every_n = {};
  std::optional<std::int64_t> bins = {};
  std::optional<std::int64_t> bin_size = {};
  std::optional<std::int64_t> nth = {};
};

inline constexpr std::int64_t max_every_n = 1'000'000'000;
inline constexpr std::int64_t max_bins = 1'000'000;
inline constexpr std::int64_t max_bin_size = 1'000'000'000;
inline constexpr std::int64_t max_nth = 1'000'000;

/// Reads "laplace:.1000:2": a name, then its numbers, of which later ones may be left out. A fault names what was found
/// and what is allowed.
[[nodiscard]] Result<Mode> parse_mode(std::string_view text);

[[nodiscard]] bool has_bins(ModeKind kind);
[[nodiscard]] bool draws(ModeKind kind);  ///< It has `nth`.
[[nodiscard]] bool sorts(ModeKind kind);  ///< It needs lengths.

/// The number of bins for `n` sequences.
[[nodiscard]] std::int64_t bins_of(const Mode& mode, std::int64_t n);

}  // namespace forebay::orders
