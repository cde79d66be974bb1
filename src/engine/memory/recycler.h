// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "engine/memory/fork_guard.h"
#include "engine/memory/sync.h"

namespace forebay::engine {

/// A free list of objects that are cheaper to use again than to make.
///
///     take() ─► in use ─► give(object) ─► free: the object given last is taken first, as the CPU cache may hold it
///       │                      └────────► dropped: `max` objects are free, or the machine has no memory for the list
///       └─► null: none is free, and the caller makes one
///
/// Thread-safe. Neither `give` nor `take` fails. In a child process that was forked after the list was made, the mutex
/// may be locked for ever: there `give` leaks the object, and nothing else may be called.
template <class T>
class Recycler {
 public:
  /// Returns a free object, or null when none is free.
  [[nodiscard]] std::unique_ptr<T> take() EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    if (free_.empty()) return nullptr;
    std::unique_ptr<T> object = std::move(free_.back());
    free_.pop_back();
    return object;
  }

  /// Takes an object back, in the state in which it is. False: the object was dropped or leaked.
  bool give(std::unique_ptr<T> object, std::size_t max = SIZE_MAX) noexcept EXCLUDES(mutex_) {
    if (orphaned()) {
      static_cast<void>(object.release());
      return false;
    }
    try {
      const Lock lock{mutex_};
      if (free_.size() >= max) return false;
      free_.push_back(std::move(object));
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  /// Destroys all free objects.
  void clear() EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    free_.clear();
  }

  /// Whether this process was forked after the list was made.
  [[nodiscard]] bool orphaned() const { return forked_since(generation_); }

 private:
  const std::uint64_t generation_ = fork_generation();
  Mutex mutex_;
  std::vector<std::unique_ptr<T>> free_ GUARDED_BY(mutex_);
};

}  // namespace forebay::engine
