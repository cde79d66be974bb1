// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/memory/allocator.h"
#include "engine/memory/pinned_memory.h"

namespace forebay::tests {

/// What a CountedPins and its buffers have done, and what the test decides.
struct PinCounts {
  std::atomic<std::int64_t> made{0};         ///< Buffers.
  std::atomic<std::int64_t> live{0};         ///< That were not freed.
  std::atomic<std::int64_t> waits{0};        ///< Calls that waited for copies.
  std::atomic<std::int64_t> workers{0};      ///< Threads that have begun.
  std::atomic<bool> busy{false};             ///< Whether buffers that are given back are read by copies.
  std::atomic<std::int64_t> max{INT64_MAX};  ///< Buffers that may live at once.
};

/// Memory of the system in the place of page-locked memory.
class CountedPins final : public PinnedMemory {
 public:
  [[nodiscard]] PinCounts& counts() const { return *counts_; }

  Result<std::unique_ptr<engine::PinnedBuffer>> allocate(std::size_t size) override {
    if (counts_->live >= counts_->max)
      return Error{Code::io, Detail::resource_exhausted, "no more memory can be locked"};
    std::byte* const memory = engine::system_allocator().allocate(size, false);
    return std::unique_ptr<engine::PinnedBuffer>{std::make_unique<Buffer>(memory, size, counts_)};
  }
  void begin_worker() noexcept override { ++counts_->workers; }

 private:
  class Buffer final : public engine::PinnedBuffer {
   public:
    Buffer(std::byte* memory, std::size_t size, std::shared_ptr<PinCounts> counts)
        : PinnedBuffer{memory, size}, counts_{std::move(counts)} {
      ++counts_->made;
      ++counts_->live;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() override {
      wait();
      --counts_->live;
      engine::system_allocator().deallocate(memory(), size());
    }
    Result<void> read_by(const std::optional<engine::DeviceStream>&) override {
      busy_ = counts_->busy;
      return {};
    }
    bool idle() noexcept override { return !busy_ || !counts_->busy; }
    void wait() noexcept override {
      if (!idle()) ++counts_->waits;
      busy_ = false;
    }

   private:
    const std::shared_ptr<PinCounts> counts_;
    bool busy_ = false;
  };

  const std::shared_ptr<PinCounts> counts_ = std::make_shared<PinCounts>();
};

}  // namespace forebay::tests
