// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <forebay/record.h>

namespace forebay::engine {

/// How many records before its turn one is fetched: enough to hide the memory's latency, and of small records no more
/// than the first-level cache holds.
constexpr std::size_t fetched_ahead = 48;

/// Starts fetching a record and the checksum behind it; the hardware follows up on what is longer.
inline void prefetch(Record record) {
  constexpr std::size_t footer = 4;
  constexpr std::size_t line = 64;
  constexpr std::size_t most_lines = 8;
  const auto first = reinterpret_cast<std::uintptr_t>(record.data()) / line;
  const auto last = (reinterpret_cast<std::uintptr_t>(record.data()) + record.size() + footer - 1) / line;
  const std::byte* const begin = record.data();
  for (std::size_t i = 0; i <= std::min(last - first, most_lines); ++i) __builtin_prefetch(begin + i * line);
}

}  // namespace forebay::engine
