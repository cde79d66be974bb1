// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Guards of mapped ranges against SIGBUS. Reading a mapped file that was truncated raises SIGBUS, which would end the
/// process. In a guarded range the handler replaces the missing page by a page of zeros and marks the range as corrupt.
/// The checksum of the record then fails. Code that reads a record after its checksum asks `range_corrupt` afterwards.
///
/// The first guard installs the handler for the whole process. Faults outside all ranges go to the previous handler.
namespace forebay::engine {

struct GuardedRange;

/// Guards [memory, memory + size) until `unguard_range`. The number of ranges is limited by memory only; throws
/// std::bad_alloc. Any thread may call these functions.
[[nodiscard]] GuardedRange& guard_range(const std::byte* memory, std::size_t size);
/// Ends the guard. Called before the memory is unmapped. The reference is invalid afterwards.
void unguard_range(GuardedRange& range);
[[nodiscard]] bool range_corrupt(const GuardedRange& range);  ///< Whether a page of the range was replaced.
/// The number of pages that were replaced since the process began, in all ranges. While it does not change, no range
/// became corrupt.
[[nodiscard]] std::int64_t pages_replaced();

}  // namespace forebay::engine
