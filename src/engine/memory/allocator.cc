// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/allocator.h"

#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>

namespace forebay::engine {

namespace {

constexpr std::size_t mapped_from = std::size_t{256} << 10;  // bytes: smaller buffers come from the heap
constexpr std::size_t huge_from = std::size_t{4} << 20;      // bytes: larger buffers ask for huge pages

void populate([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#ifdef MADV_POPULATE_WRITE
  if (size < huge_from) madvise(memory, size, MADV_POPULATE_WRITE);
#endif
}

class SystemAllocator final : public Allocator {
 public:
  std::byte* allocate(std::size_t size, bool filled) noexcept override {
    if (size < mapped_from) {
      const std::size_t needed = (size + slack + alignment - 1) & ~(alignment - 1);
      return static_cast<std::byte*>(std::aligned_alloc(alignment, needed));
    }
    void* const memory = mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (size >= huge_from) madvise(memory, size, MADV_HUGEPAGE);
    if (filled) populate(memory, size);
    return static_cast<std::byte*>(memory);
  }
  void deallocate(std::byte* memory, std::size_t size) noexcept override {
    if (size < mapped_from) {
      std::free(memory);
    } else {
      munmap(memory, size + slack);
    }
  }
};

}  // namespace

Allocator& system_allocator() {
  static SystemAllocator system;
  return system;
}

}  // namespace forebay::engine
