// SPDX-License-Identifier: Apache-2.0
// Page-locked memory for the batches of a run. It is ordinary memory that is registered with the CUDA runtime: memory
// of cudaHostAlloc would have no huge pages, and needs the driver for the page faults of all of it.
#include <forebay/staging.h>

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/mman.h>

#include "engine/memory/allocator.h"
#include "engine/memory/buffer_pool.h"
#include "engine/memory/pinned_memory.h"
#include "engine/run/staging/cuda_runtime.h"
#include "engine/run/staging/on_device.h"

namespace forebay {

namespace {

using engine::Allocator;
using engine::CudaRuntime;
using engine::DeviceStream;
using engine::OnDevice;

constexpr const char* without = "load without pin_memory";

/// Pages of this process. A child has none of them: with some kernels a fork would give the process other pages than
/// the device reads.
class Pages {
 public:
  explicit Pages(std::size_t size) : size_{size} {
    constexpr std::size_t huge_from = std::size_t{4} << 20;  // bytes: as memory of the system
    void* const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = static_cast<std::byte*>(memory);
    madvise(memory_, size_, MADV_DONTFORK);
    if (size_ >= huge_from) madvise(memory_, size_, MADV_HUGEPAGE);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (memory_ != nullptr) munmap(memory_, size_);
  }
  [[nodiscard]] std::byte* memory() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  const std::size_t size_;
  std::byte* memory_ = nullptr;
};

class CudaBuffer final : public engine::PinnedBuffer {
 public:
  CudaBuffer(std::shared_ptr<const CudaRuntime> cuda, std::int64_t device, std::unique_ptr<Pages> pages,
             std::size_t size)
      : PinnedBuffer{pages->memory(), size}, cuda_{std::move(cuda)}, device_{device}, pages_{std::move(pages)} {}
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  ~CudaBuffer() override {
    wait();
    for (const Mark& mark : marks_) cuda_->event_destroy(mark.event);
    const OnDevice current{*cuda_, static_cast<int>(device_)};
    cuda_->host_unregister(memory());
  }

  Result<void> read_by(const std::optional<DeviceStream>& stream) override {
    const DeviceStream place = stream.value_or(DeviceStream{.device = device_});
    const OnDevice current{*cuda_, static_cast<int>(place.device)};
    const auto same = [&](const Mark& mark) {
      return mark.place.device == place.device && mark.place.stream == place.stream;
    };
    auto found = std::ranges::find_if(marks_, same);
    if (found == marks_.end()) {
      void* event = nullptr;
      FOREBAY_DO(cuda_->check(cuda_->event_create(&event, CudaRuntime::event_without_time), "making an event"));
      found = marks_.insert(marks_.end(), Mark{.place = place, .event = event});
    }
    found->waits = true;  // an event that is recorded again is complete when the later work is
    return cuda_->check(cuda_->event_record(found->event, place.stream), "recording an event");
  }

  bool idle() noexcept override {
    return std::ranges::none_of(marks_, [this](Mark& mark) {
      if (mark.waits) mark.waits = busy(mark);
      return mark.waits;
    });
  }

  void wait() noexcept override {
    for (Mark& mark : marks_) {
      if (!std::exchange(mark.waits, false)) continue;
      const OnDevice current{*cuda_, static_cast<int>(mark.place.device)};
      if (cuda_->event_synchronize(mark.event) != 0) cuda_->get_last_error();
    }
  }

 private:
  struct Mark {  // work of a stream, up to the event
    DeviceStream place;
    void* event = nullptr;
    bool waits = false;  // may not be done
  };

  /// A device that fails has ended its work: the program gets that error where it uses the device.
  [[nodiscard]] bool busy(const Mark& mark) const {
    const OnDevice current{*cuda_, static_cast<int>(mark.place.device)};
    const int state = cuda_->event_query(mark.event);
    if (state != 0) cuda_->get_last_error();  // else it would be the error of the program's next call
    return state == CudaRuntime::not_ready;
  }

  const std::shared_ptr<const CudaRuntime> cuda_;
  const std::int64_t device_;
  const std::unique_ptr<Pages> pages_;
  std::vector<Mark> marks_;  // by stream
};

class CudaPinnedMemory final : public PinnedMemory {
 public:
  CudaPinnedMemory(std::shared_ptr<const CudaRuntime> cuda, std::int64_t device)
      : cuda_{std::move(cuda)}, device_{device} {}

  Result<std::unique_ptr<engine::PinnedBuffer>> allocate(std::size_t size) override {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto pages = std::make_unique<Pages>((size + Allocator::slack + page - 1) / page * page);
    if (pages->memory() == nullptr)
      return Error{Code::io, Detail::resource_exhausted,
                   fmt::format("the machine has no memory left for a buffer of {} bytes; lower `memory`", size)};
    const OnDevice current{*cuda_, static_cast<int>(device_)};
    if (const int error = cuda_->host_register(pages->memory(), pages->size(), CudaRuntime::register_portable);
        error != 0) {
      cuda_->get_last_error();
      return Error{Code::io, Detail::resource_exhausted,
                   fmt::format("{} bytes of the host cannot be page-locked: {} (CUDA error {}); the system limits such "
                               "memory: lower `memory` or `prefetch`, or {}",
                               pages->size(), cuda_->error_string(error), error, without)};
    }
    return std::unique_ptr<engine::PinnedBuffer>{std::make_unique<CudaBuffer>(cuda_, device_, std::move(pages), size)};
  }

  void begin_worker() noexcept override { cuda_->set_device(static_cast<int>(device_)); }

 private:
  const std::shared_ptr<const CudaRuntime> cuda_;
  const std::int64_t device_;
};

Error no_gpu(const std::string& why) {
  return Error{Code::config, Detail::not_found,
               fmt::format("memory cannot be page-locked, as no GPU can be used: {}; {}", why, without)};
}

}  // namespace

Result<std::shared_ptr<PinnedMemory>> cuda_pinned_memory(const CudaPinning& options) {
  FOREBAY_TRY(auto cuda, CudaRuntime::load(options.library, without));
  int devices = 0, device = 0;
  if (const int error = cuda->get_device_count(&devices); error != 0) {
    cuda->get_last_error();
    return no_gpu(fmt::format("{} (CUDA error {})", cuda->error_string(error), error));
  }
  if (options.device >= devices || options.device < -1)
    return no_gpu(fmt::format("there is no GPU {}; this machine has {}, counted from 0", options.device, devices));
  FOREBAY_DO(cuda->check(cuda->get_device(&device), "asking for the GPU of this thread"));
  if (options.device >= 0) device = static_cast<int>(options.device);
  auto made = std::make_shared<CudaPinnedMemory>(std::move(cuda), device);
  FOREBAY_DO(made->allocate(1));  // what fails for one page is told now
  return std::shared_ptr<PinnedMemory>{std::move(made)};
}

Result<void> record_stream(const Tensor& host, std::int64_t device, void* stream) {
  return engine::BufferPool::record_stream(host.owner, {.device = device, .stream = stream});
}

Result<void> record_stream(const Batch& host, std::int64_t device, void* stream) {
  for (const std::string& name : host.names()) {
    const Value& value = *host.find(name);
    if (value.kind == Value::Kind::dense) FOREBAY_DO(record_stream(value.values, device, stream));
  }
  return {};
}

bool page_locked(const Tensor& host) { return engine::BufferPool::page_locked(host.owner); }

}  // namespace forebay
