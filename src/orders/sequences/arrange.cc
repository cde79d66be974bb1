// SPDX-License-Identifier: Apache-2.0
#include "orders/sequences/arrange.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "orders/radix_sort.h"

namespace forebay::orders {
namespace {

using Places = std::span<std::uint32_t>;

void shuffle_places(Places places, Draws& draws) {
  for (std::size_t i = places.size(); i-- > 1;)
    std::swap(places[i], places[draws.up_to(static_cast<std::uint32_t>(i))]);
}

std::vector<std::uint32_t> counted_from_0(std::size_t n) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

template <class Value>
void sort_with(Places places, std::span<const std::uint64_t> keys, std::uint64_t min, bool descending) {
  std::vector<SortKey<Value>> sorted;
  sorted.reserve(places.size());
  for (const std::uint32_t place : places) {
    const auto value = static_cast<Value>(keys[place] - min);
    sorted.push_back({descending ? static_cast<Value>(~value) : value, place});
  }
  RadixSort<Value>::sort(sorted);
  std::ranges::transform(sorted, places.begin(), &SortKey<Value>::place);
}

/// Sorts some sequences by their keys. Most keys lie near to each other, which halves the memory.
void sort_places(Places places, std::span<const std::uint64_t> keys, bool descending) {
  if (places.size() < 2) return;
  std::uint64_t min = UINT64_MAX, max = 0;
  for (const std::uint32_t place : places) min = std::min(min, keys[place]), max = std::max(max, keys[place]);
  if (max - min <= UINT32_MAX) {
    sort_with<std::uint32_t>(places, keys, min, descending);
  } else {
    sort_with<std::uint64_t>(places, keys, min, descending);
  }
}

/// Bin `i` of `bins`: the places from i · n / bins on.
Places bin_of(Places places, std::uint64_t i, std::uint64_t bins) {
  const std::uint64_t n = places.size();
  const std::uint64_t begin = i * n / bins, end = (i + 1) * n / bins;
  return places.subspan(begin, end - begin);
}

std::vector<std::uint32_t> every_nth(const Mode& mode, std::uint32_t n, bool keep_tail) {
  const auto lanes = static_cast<std::uint64_t>(*mode.every_n);
  const std::uint64_t length = n / lanes;
  std::vector<std::uint32_t> out;
  out.reserve(n);
  for (std::uint64_t place = 0; place < length; ++place) {
    for (std::uint64_t lane = 0; lane < lanes; ++lane) out.push_back(static_cast<std::uint32_t>(place + lane * length));
  }
  for (std::uint64_t rest = length * lanes; keep_tail && rest < n; ++rest)
    out.push_back(static_cast<std::uint32_t>(rest));
  return out;
}

std::vector<std::uint32_t> drawn_with_replacement(std::uint32_t n, Draws& draws) {
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t& place : out) place = draws.up_to(n - 1);
  return out;
}

void bins_up_and_down(Places places, std::span<const std::uint64_t> keys, std::uint64_t bins) {
  for (std::uint64_t i = 0; i < bins; ++i) sort_places(bin_of(places, i, bins), keys, i % 2 == 1);
}

std::vector<std::uint32_t> bins_permuted(const Mode& mode, Places places, std::uint64_t bins, Draws& draws) {
  std::vector<std::uint32_t> numbers = counted_from_0(bins);
  shuffle_places(numbers, draws);
  std::vector<std::uint32_t> out;
  out.reserve(places.size());
  for (const std::uint32_t number : numbers) {
    const Places bin = bin_of(places, number, bins);
    if (mode.kind == ModeKind::sort_bin_shuffle_x2) shuffle_places(bin, draws);
    out.insert(out.end(), bin.begin(), bin.end());
  }
  return out;
}

}  // namespace

std::vector<std::uint32_t> arrange(const Mode& mode, std::uint32_t n, std::span<const std::uint64_t> keys,
                                   bool keep_tail, Draws& draws) {
  if (mode.kind == ModeKind::default_every_n) return every_nth(mode, n, keep_tail);
  if (mode.kind == ModeKind::random_sample) return drawn_with_replacement(n, draws);
  std::vector<std::uint32_t> out = counted_from_0(n);
  if (mode.kind == ModeKind::reverse) std::ranges::reverse(out);
  if (mode.kind == ModeKind::sorted || mode.kind == ModeKind::sorted_reverse)
    sort_places(out, keys, mode.kind == ModeKind::sorted_reverse);
  if (mode.kind != ModeKind::random && !has_bins(mode.kind)) return out;
  shuffle_places(out, draws);
  const auto bins = static_cast<std::uint64_t>(bins_of(mode, n));
  if (mode.kind == ModeKind::laplace) bins_up_and_down(out, keys, bins);
  if (mode.kind != ModeKind::sort_bin_shuffle && mode.kind != ModeKind::sort_bin_shuffle_x2) return out;
  sort_places(out, keys, false);
  return bins_permuted(mode, out, bins, draws);
}

std::int64_t bytes_to_arrange(const Mode& mode) {
  constexpr std::int64_t place = sizeof(std::uint32_t);
  constexpr std::int64_t sorting = 2 * sizeof(SortKey<std::uint64_t>);
  return place + (sorts(mode.kind) ? sorting : 0);
}

}  // namespace forebay::orders
