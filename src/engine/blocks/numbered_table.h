// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace forebay::engine {

/// Entries by number. The number of an entry that was taken out is given to a later one. Used by the order plane only.
template <class Entry, class Number>
class NumberedTable {
 public:
  [[nodiscard]] Number add(Entry entry) {
    if (free_.empty()) {
      free_.push_back(static_cast<Number>(entries_.size()));
      entries_.emplace_back();
    }
    const Number number = free_.back();
    entries_[static_cast<std::size_t>(number)] = std::move(entry);
    free_.pop_back();
    return number;
  }
  /// Takes an entry out. Its number is free.
  Entry take(Number number) {
    free_.push_back(number);
    return std::exchange((*this)[number], Entry{});
  }
  [[nodiscard]] Entry& operator[](Number number) { return entries_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] const Entry& operator[](Number number) const { return entries_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] bool used() const { return !entries_.empty(); }  ///< An entry was added before.
  void clear() { entries_.clear(); }                             ///< No number may be used any more.

 private:
  std::vector<Entry> entries_;  // by number
  std::vector<Number> free_;
};

}  // namespace forebay::engine
