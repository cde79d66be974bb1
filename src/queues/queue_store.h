// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include <forebay/queue.h>

namespace forebay::queues {

/// The priority of an element of QueueKind::priority.
[[nodiscard]] inline std::int64_t priority_of(const QueueElement& element) {
  return element.front().as<std::int64_t>().front();
}

/// The elements of a queue, and which of them is next. Not thread-safe.
class QueueStore {
 public:
  /// `seed` is for QueueKind::random_shuffle.
  QueueStore(QueueKind kind, std::uint64_t seed) : kind_{kind}, seed_{seed} {}

  [[nodiscard]] std::int64_t size() const { return std::ssize(elements_); }
  void push(QueueElement element);
  [[nodiscard]] QueueElement pop();  ///< There is an element.
  /// Gives back elements that were popped, in the order of `pop`: where order counts, they are next.
  void put_back(std::vector<QueueElement> taken);

 private:
  struct Held {
    std::int64_t priority;
    std::int64_t number;
    QueueElement element;
  };
  void add(QueueElement element, bool first);

  const QueueKind kind_;
  const std::uint64_t seed_;
  std::deque<Held> elements_;  // of priority: a heap
  std::int64_t last_ = 0;      // number of the newest element
  std::int64_t first_ = 0;     // number of the newest element that was put back
  std::uint64_t draws_ = 0;
};

}  // namespace forebay::queues
