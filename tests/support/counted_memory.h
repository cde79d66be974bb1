// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/memory/allocator.h"

namespace forebay::tests {

/// Memory of the system that is counted, and that ends after a number of buffers.
class CountedMemory final : public engine::Allocator {
 public:
  explicit CountedMemory(std::int64_t buffers = INT64_MAX) : left_{buffers} {}
  std::byte* allocate(std::size_t size, bool filled) noexcept override {
    if (--left_ < 0) return nullptr;
    ++taken_;
    held_ += static_cast<std::int64_t>(size);
    return engine::system_allocator().allocate(size, filled);
  }
  void deallocate(std::byte* memory, std::size_t size) noexcept override {
    held_ -= static_cast<std::int64_t>(size);
    engine::system_allocator().deallocate(memory, size);
  }
  [[nodiscard]] std::int64_t taken() const { return taken_; }  ///< Buffers.
  [[nodiscard]] std::int64_t held() const { return held_; }    ///< Bytes that were not given back.

 private:
  std::atomic<std::int64_t> left_;
  std::atomic<std::int64_t> taken_{0};
  std::atomic<std::int64_t> held_{0};
};

}  // namespace forebay::tests
