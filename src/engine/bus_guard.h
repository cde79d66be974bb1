// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Reading a mapped file that somebody truncates raises SIGBUS, which would end the process. While a range is guarded,
/// the missing page is replaced by zeros and the range is marked as damaged; checksums then refuse what was read.
namespace forebay::engine {

/// Guards [memory, memory + size); a slot number, or -1 when all slots are taken. Any thread may call.
[[nodiscard]] int guard_range(const std::byte* memory, std::size_t size);
void unguard_range(int slot);
[[nodiscard]] bool range_damaged(int slot);  ///< Whether a page of the range had to be replaced.

}  // namespace forebay::engine
