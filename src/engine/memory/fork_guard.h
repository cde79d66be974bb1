// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace forebay::engine {

/// How many forks lie between the program's start and this process. A pipeline that was made in another generation has
/// no threads here, and its locks may be held for ever.
[[nodiscard]] std::uint64_t fork_generation();

/// Whether this process is a child that was forked after `generation`.
[[nodiscard]] inline bool forked_since(std::uint64_t generation) { return generation != fork_generation(); }

/// Lets go of an owner without ever destroying what it owns: in a forked child, another thread may have been in the
/// midst of changing it.
template <class T>
void abandon(std::shared_ptr<T> owner) {
  union Kept {
    explicit Kept(std::shared_ptr<T> kept) : owner{std::move(kept)} {}
    ~Kept() {}  // NOLINT: not even the owner's count goes down
    std::shared_ptr<T> owner;
  };
  const Kept kept{std::move(owner)};
}

}  // namespace forebay::engine
