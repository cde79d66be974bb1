// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace forebay::engine {

/// Slots of a cache by the time of their next use, those with the latest first. Of many slots it remembers those with
/// the last times: when these are used up, all are listed again.
class FarthestFirst {
 public:
  struct Item {
    std::uint64_t time = 0;
    std::uint32_t slot = 0;
    auto operator<=>(const Item&) const = default;
  };
  static constexpr std::size_t min_remembered = 4096;

  /// Begins with the times of all slots.
  void list(std::vector<Item> all) {
    const std::size_t kept = std::max(min_remembered, all.size() / 64);
    from_ = 0;
    if (all.size() > kept) {
      const auto last = all.begin() + static_cast<std::ptrdiff_t>(kept);
      std::ranges::nth_element(all, last, std::greater<>{});
      from_ = last->time;
      std::erase_if(all, [&](const Item& item) { return item.time < from_; });
    }
    std::ranges::make_heap(all);
    items_ = std::move(all);
    max_items_ = 2 * items_.size() + min_remembered;
    listed_ = true;
  }
  /// A slot has another time now. The item that it had before stays until the owner finds it out of date.
  void change(Item item) {
    if (!listed_ || item.time < from_) return;
    if (items_.size() >= max_items_) return forget();  // most are out of date
    items_.push_back(item);
    std::ranges::push_heap(items_);
  }
  void forget() {
    items_.clear();
    listed_ = false;
  }
  /// Empty: all slots must be listed.
  [[nodiscard]] std::optional<Item> first() const {
    return items_.empty() ? std::nullopt : std::optional{items_.front()};
  }
  void drop_first() {
    std::ranges::pop_heap(items_);
    items_.pop_back();
  }

 private:
  std::vector<Item> items_;  // a heap
  bool listed_ = false;
  std::size_t max_items_ = 0;
  std::uint64_t from_ = 0;  // earlier times are not remembered
};

}  // namespace forebay::engine
