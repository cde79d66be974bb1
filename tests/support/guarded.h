// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include <sys/mman.h>
#include <unistd.h>

namespace forebay::testing {

/// A copy of some bytes that ends at the end of a page. The page after it, and the one before its first page, cannot be
/// accessed: a read outside the bytes ends the test with a signal (up to a page before the first byte excepted).
class Guarded {
 public:
  explicit Guarded(std::span<const std::byte> bytes) : size_{bytes.size()} {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t pages = (size_ + page - 1) / page * page;
    mapped_ = pages + 2 * page;
    base_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page, pages, PROT_READ | PROT_WRITE);
    begin_ = base_ + page + pages - size_;
    if (size_ > 0) std::memcpy(begin_, bytes.data(), size_);
  }
  Guarded(Guarded&& other) noexcept
      : base_{other.base_}, begin_{other.begin_}, size_{other.size_}, mapped_{other.mapped_} {
    other.base_ = nullptr;
  }
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return {begin_, size_}; }
  [[nodiscard]] std::span<std::byte> writable() { return {begin_, size_}; }
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(begin_), size_ / sizeof(T)};
  }

 private:
  std::byte* base_ = nullptr;
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace forebay::testing
