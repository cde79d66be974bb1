// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace forebay::engine {

/// The number of forks between the program's start and this process. In a forked child, a loader of an earlier
/// generation has no threads, and its mutexes may be locked for ever.
[[nodiscard]] std::uint64_t fork_generation();

/// Whether this process is a child that was forked after `generation`.
[[nodiscard]] inline bool forked_since(std::uint64_t generation) { return generation != fork_generation(); }

/// Leaks what `owner` owns. In a forked child it must not be destroyed, because another thread of the parent may have
/// been changing it at the moment of the fork.
template <class T>
void abandon(std::shared_ptr<T> owner) {
  union Leaked {
    explicit Leaked(std::shared_ptr<T> moved) : owner{std::move(moved)} {}
    ~Leaked() {}  // NOLINT: the reference is never dropped
    std::shared_ptr<T> owner;
  };
  const Leaked leaked{std::move(owner)};
}

}  // namespace forebay::engine
