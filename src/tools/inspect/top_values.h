// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace forebay::tools {

/// Hashes strings and views of them alike.
struct BytesHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view bytes) const { return std::hash<std::string_view>{}(bytes); }
};

/// The most frequent values of a stream, counted with at most `capacity` counters (Misra and Gries). Of n values each
/// one that comes more than n / capacity times is among them, and no count is too large. A count may be too small by at
/// most `missed`; with 0 all values and their counts are exact. Counts of parts can be merged; the result depends on
/// the order of the values and of the parts only.
template <class Key>
class TopValues {
 public:
  static constexpr std::size_t capacity = 256;
  using View = std::conditional_t<std::is_same_v<Key, std::string>, std::string_view, Key>;
  using Counted = std::pair<Key, std::int64_t>;

  void add(View value) {
    const auto found = counts_.find(value);
    if (found != counts_.end()) {
      ++found->second;
    } else if (counts_.size() < capacity) {
      counts_.emplace(Key{value}, 1);
    } else {
      lower(1);
    }
  }
  void merge(const TopValues& other) {
    for (const auto& [value, count] : other.counts_) counts_[value] += count;
    missed_ += other.missed_;
    if (counts_.size() <= capacity) return;
    std::vector<std::int64_t> sorted;
    for (const auto& each : counts_) sorted.push_back(each.second);
    std::nth_element(sorted.begin(), sorted.begin() + capacity, sorted.end(), std::greater<>{});
    lower(sorted[capacity]);
  }
  /// The `count` most frequent values, those of equal counts in their order.
  [[nodiscard]] std::vector<Counted> top(std::size_t count) const {
    std::vector<Counted> out{counts_.begin(), counts_.end()};
    std::sort(out.begin(), out.end(), [](const Counted& a, const Counted& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    if (out.size() > count) out.resize(count);
    return out;
  }
  [[nodiscard]] std::size_t size() const { return counts_.size(); }
  [[nodiscard]] std::int64_t missed() const { return missed_; }

 private:
  using Counts = std::conditional_t<std::is_same_v<Key, std::string>,
                                    std::unordered_map<std::string, std::int64_t, BytesHash, std::equal_to<>>,
                                    std::unordered_map<Key, std::int64_t>>;
  void lower(std::int64_t by) {
    for (auto each = counts_.begin(); each != counts_.end();)
      each = (each->second -= by) <= 0 ? counts_.erase(each) : std::next(each);
    missed_ += by;
  }

  Counts counts_;
  std::int64_t missed_ = 0;
};

}  // namespace forebay::tools
