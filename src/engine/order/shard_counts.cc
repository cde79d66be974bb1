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

bool countable(const std::vector<Ordering>& record_orders) {
  bool changed = false;
  for (const Ordering& order : record_orders) {
    if (order.selects && changed) return false;
    changed = changed || (!order.selects && order.count != nullptr);
  }
  return true;
}

std::vector<std::size_t> counted_filters(const Program& program) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < program.early.selecting; ++i) out.push_back(i);
  std::size_t attribute = program.early.selecting + program.interleave.attributes.size();
  for (const Ordering& order : program.record_orders) {
    if (order.selects) out.push_back(attribute);
    attribute += order.attributes.size();
  }
  return out;
}

std::optional<std::int64_t> count_after_filters(const std::vector<Ordering>& record_orders, std::int64_t kept) {
  std::vector<Ordering> others;
  std::ranges::copy_if(record_orders, std::back_inserter(others), [](const Ordering& order) { return !order.selects; });
  return count_after(others, kept);
}

}  // namespace forebay::engine
