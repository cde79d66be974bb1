// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Reading a mapped file that somebody truncates raises SIGBUS, which would end the process. While a range is
/// catch_all, the missing page is replaced by zeros and the range is marked as corrupt; checksums then refuse what was
/// read, and whoever reads on behind a checksum asks whether the range was corrupt meanwhile.
namespace forebay::engine {

struct GuardedRange;

/// Guards [memory, memory + size). There are as many ranges as memory; throws std::bad_alloc. Any thread may call.
[[nodiscard]] GuardedRange& guard_range(const std::byte* memory, std::size_t size);
/// It may guard something else from then on.
void unguard_range(GuardedRange& range);
[[nodiscard]] bool range_corrupt(const GuardedRange& range);  ///< Whether a page of it had to be replaced.
/// Pages that were replaced since the process began, in all ranges: while it stays the same, nothing was corrupt.
[[nodiscard]] std::int64_t pages_replaced();

}  // namespace forebay::engine
