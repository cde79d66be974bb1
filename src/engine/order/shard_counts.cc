// SPDX-License-Identifier: Apache-2.0
#include "engine/order/shard_counts.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace forebay::engine {

std::string shard_misfit(std::int64_t rows, std::int64_t count) {
  constexpr std::size_t max_names = 40;
  std::vector<std::int64_t> fit;
  for (std::int64_t low = 1; low * low <= rows; ++low) {
    if (rows % low != 0) continue;
    fit.push_back(low);
    if (low * low != rows) fit.push_back(rows / low);
  }
  std::sort(fit.begin(), fit.end());
  const std::size_t shown = std::min(fit.size(), max_names);
  const std::string more = shown < fit.size() ? fmt::format(" and {} more", fit.size() - shown) : "";
  return fmt::format("a batch of {} rows cannot be divided among {} shards; counts that fit: {}{}", rows, count,
                     fmt::join(fit.begin(), fit.begin() + static_cast<std::ptrdiff_t>(shown), ", "), more);
}

}  // namespace forebay::engine
