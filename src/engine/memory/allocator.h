// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace forebay::engine {

/// Where a BufferPool takes its memory from: the system, or memory of another kind, such as pinned memory that a device
/// copies from. Thread-safe. It outlives all memory that it gave.
class Allocator {
 public:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t slack = 64;  ///< Bytes after the end that may be read and written.

  virtual ~Allocator() = default;
  /// Memory of `size` bytes and the slack, aligned and not initialized; null when there is none. `filled`: all of it is
  /// written soon.
  [[nodiscard]] virtual std::byte* allocate(std::size_t size, bool filled) noexcept = 0;
  /// Takes back what `allocate` gave for this size.
  virtual void deallocate(std::byte* memory, std::size_t size) noexcept = 0;
};

/// Memory of the system: small buffers from the heap, large ones mapped.
[[nodiscard]] Allocator& system_allocator();

}  // namespace forebay::engine
