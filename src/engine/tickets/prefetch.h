// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <forebay/record.h>

namespace forebay::engine {

inline constexpr std::size_t cache_line = 64;

/// The size in whole lines.
[[nodiscard]] constexpr std::size_t aligned(std::size_t size) { return (size + cache_line - 1) & ~(cache_line - 1); }

/// How many records before its turn one is fetched: enough to hide the memory's latency, and no more. What is fetched,
/// the group that is worked on and the rows that it fills share the first-level cache, and what falls out of it comes
/// back after all fetches that are under way.
inline constexpr std::int64_t fetched_ahead = 12;

/// The first line of a record is fetched so many records earlier than the rest, so that only one fetch waits for the
/// page tables.
inline constexpr std::int64_t begun_ahead = 4;

/// Starts fetching a record and the `trailer` bytes after it; the hardware prefetcher continues with longer ones.
/// Always inlined: the compiler may drop a call of a function that only prefetches.
[[gnu::always_inline]] inline void prefetch(Record record, std::size_t trailer) {
  constexpr std::size_t max_lines = 8;
  const auto first = reinterpret_cast<std::uintptr_t>(record.data()) / cache_line;
  const auto last = (reinterpret_cast<std::uintptr_t>(record.data()) + record.size() + trailer) / cache_line;
  const std::byte* const begin = record.data();
  for (std::size_t i = 0; i <= std::min(last - first, max_lines); ++i) __builtin_prefetch(begin + i * cache_line);
}

}  // namespace forebay::engine
