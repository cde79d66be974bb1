// SPDX-License-Identifier: Apache-2.0
#include "queues/queue_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/draw.h"

namespace forebay::queues {

namespace {

/// Order of a heap whose front has the smallest priority, the oldest of equal ones.
constexpr auto comes_later = [](const auto& a, const auto& b) {
  return std::tie(a.priority, a.number) > std::tie(b.priority, b.number);
};

}  // namespace

void QueueStore::add(QueueElement element, bool first) {
  const std::int64_t number = first ? --first_ : ++last_;
  if (kind_ != QueueKind::priority) {
    Held held{.priority = 0, .number = number, .element = std::move(element)};
    first ? elements_.push_front(std::move(held)) : elements_.push_back(std::move(held));
    return;
  }
  const std::int64_t priority = priority_of(element);
  elements_.push_back({.priority = priority, .number = number, .element = std::move(element)});
  std::ranges::push_heap(elements_, comes_later);
}

void QueueStore::push(QueueElement element) { add(std::move(element), false); }

QueueElement QueueStore::pop() {
  if (kind_ == QueueKind::random_shuffle) {
    const auto size = static_cast<std::uint64_t>(elements_.size());
    const std::uint64_t place = below(draw({.seed = seed_, .index = draws_++}), size);
    QueueElement out = std::move(elements_[place].element);
    if (place + 1 < size) elements_[place] = std::move(elements_.back());
    elements_.pop_back();
    return out;
  }
  if (kind_ == QueueKind::priority) {
    std::ranges::pop_heap(elements_, comes_later);
    QueueElement out = std::move(elements_.back().element);
    elements_.pop_back();
    return out;
  }
  QueueElement out = std::move(elements_.front().element);
  elements_.pop_front();
  return out;
}

void QueueStore::put_back(std::vector<QueueElement> taken) {
  for (; !taken.empty(); taken.pop_back()) add(std::move(taken.back()), true);
}

}  // namespace forebay::queues
