// SPDX-License-Identifier: Apache-2.0

#include <forebay/messages.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace forebay {

namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Edit distance: letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = above[j] + (same_letter(a[i], b[j]) ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, above[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && same_letter(a[i], b[j - 1]) && same_letter(a[i - 1], b[j]);
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above.back();
}

}  // namespace

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t longest_compared = 256;  // a hostile key of a megabyte gets no hint
  if (name.size() > longest_compared) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest_compared) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

std::string hint(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? std::string{} : fmt::format("; did you mean '{}'?", near);
}

std::string among(std::string_view name, std::span<const std::string> candidates, std::string_view words) {
  constexpr std::size_t shown_at_most = 30;
  const std::string near = hint(name, candidates);
  const auto shown = candidates.first(std::min(candidates.size(), shown_at_most));
  return fmt::format(
      "{} {}: {}{}", near.empty() ? ";" : near, words, fmt::join(shown, ", "),
      shown.size() < candidates.size() ? fmt::format(" and {} more", candidates.size() - shown.size()) : "");
}

}  // namespace forebay
