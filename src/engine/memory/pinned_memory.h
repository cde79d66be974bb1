// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <forebay/error.h>

// Page-locked memory of the host, from which a device copies while the program goes on.
namespace forebay {

namespace engine {

/// A stream of a device; null: its default stream.
struct DeviceStream {
  std::int64_t device = 0;
  void* stream = nullptr;
};

/// A page-locked buffer, and the copies out of it that go on. Its memory has the alignment and the slack of
/// Allocator. One thread at a time. The destructor waits for the copies, and frees the memory.
class PinnedBuffer {
 public:
  PinnedBuffer(std::byte* memory, std::size_t size) : memory_{memory}, size_{size} {}
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  virtual ~PinnedBuffer() = default;
  [[nodiscard]] std::byte* memory() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The work that was put into the stream so far may read the buffer. Nothing: into the default stream of the device
  /// that the memory was made for.
  virtual Result<void> read_by(const std::optional<DeviceStream>& stream) = 0;
  [[nodiscard]] virtual bool idle() noexcept = 0;  ///< Whether all that work is done. Does not wait.
  virtual void wait() noexcept = 0;                ///< Until it is done.

 private:
  std::byte* const memory_;
  const std::size_t size_;
};

}  // namespace engine

/// Where a BufferPool takes page-locked buffers from. Thread-safe. It outlives its buffers.
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
  /// Fails with Code::io when the memory cannot be locked.
  [[nodiscard]] virtual Result<std::unique_ptr<engine::PinnedBuffer>> allocate(std::size_t size) = 0;
  /// Called by each worker of a run when it starts.
  virtual void begin_worker() noexcept = 0;
};

namespace engine {

/// Thrown instead of std::bad_alloc where page-locked memory is missing, so that the error says why.
class NoPinnedMemory final : public std::bad_alloc {
 public:
  explicit NoPinnedMemory(Error why) : error{std::move(why)} {}
  const Error error;
};

}  // namespace engine

}  // namespace forebay
