// SPDX-License-Identifier: Apache-2.0
#include <forebay/staging.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include <fmt/core.h>

#include "engine/memory/sync.h"
#include "engine/run/staging/cuda_runtime.h"
#include "engine/run/staging/on_device.h"

namespace forebay {

namespace {

using engine::CudaRuntime;
using engine::OnDevice;

constexpr std::size_t gpu_alignment = 256;                      // of each tensor in the memory of a batch
constexpr std::size_t smallest_pinned = std::size_t{64} << 10;  // bytes
constexpr std::size_t max_pinned = 4;                           // page-locked buffers of a Staging

/// A GPU and the stream of the copies to it. Lives as long as memory that was copied to.
struct Gpu {
  std::shared_ptr<const CudaRuntime> cuda;
  int number = 0;
  void* copies = nullptr;

  Gpu(std::shared_ptr<const CudaRuntime> runtime, int device) : cuda{std::move(runtime)}, number{device} {}
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu() {
    if (copies != nullptr) cuda->stream_destroy(copies);
  }
};

/// An event of the stream of copies: complete when all copies before it are.
class CopyEvent {
 public:
  explicit CopyEvent(std::shared_ptr<Gpu> gpu) : gpu_{std::move(gpu)} {}
  CopyEvent(const CopyEvent&) = delete;
  CopyEvent& operator=(const CopyEvent&) = delete;
  ~CopyEvent() {
    if (event_ != nullptr) gpu_->cuda->event_destroy(event_);
  }

  Result<void> record() {
    FOREBAY_DO(
        gpu_->cuda->check(gpu_->cuda->event_create(&event_, CudaRuntime::event_without_time), "making an event"));
    return gpu_->cuda->check(gpu_->cuda->event_record(event_, gpu_->copies), "recording an event");
  }
  [[nodiscard]] Result<bool> complete() const {
    const int state = gpu_->cuda->event_query(event_);
    if (state == CudaRuntime::not_ready) {
      gpu_->cuda->get_last_error();  // else it would be the error of the program's next call
      return false;
    }
    FOREBAY_DO(gpu_->cuda->check(state, "copying a batch"));
    return true;
  }
  Result<void> hold_back(void* stream) const {
    return gpu_->cuda->check(gpu_->cuda->stream_wait_event(stream, event_, 0), "waiting for a batch");
  }
  Result<void> synchronize() const {
    return gpu_->cuda->check(gpu_->cuda->event_synchronize(event_), "copying a batch");
  }

 private:
  const std::shared_ptr<Gpu> gpu_;
  void* event_ = nullptr;
};

/// Memory of the GPU. It is freed in the order of the stream that used it, so the work there may still read it.
class GpuMemory {
 public:
  GpuMemory(std::shared_ptr<Gpu> gpu, void* memory) : gpu_{std::move(gpu)}, memory_{memory}, user_{gpu_->copies} {}
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() { gpu_->cuda->free_async(memory_, user_.load()); }

  void used_by(void* stream) { user_.store(stream); }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  const std::shared_ptr<Gpu> gpu_;
  void* const memory_;
  std::atomic<void*> user_;
};

class OnGpu final : public StagedTensors {
 public:
  OnGpu(std::vector<Tensor> made, std::shared_ptr<GpuMemory> memory, std::shared_ptr<CopyEvent> copied)
      : StagedTensors{std::move(made)}, memory_{std::move(memory)}, copied_{std::move(copied)} {}
  Result<void> wait(void* stream) override {
    FOREBAY_DO(copied_->hold_back(stream));
    memory_->used_by(stream);
    return {};
  }
  Result<bool> ready() const override { return copied_->complete(); }

 private:
  const std::shared_ptr<GpuMemory> memory_;
  const std::shared_ptr<CopyEvent> copied_;
};

/// Page-locked memory of the host. A buffer is free when the copy out of it is complete.
class PinnedBuffers {
 public:
  struct Buffer {
    std::byte* memory = nullptr;
    std::size_t size = 0;
    std::shared_ptr<CopyEvent> until = {};  // null: free
  };

  explicit PinnedBuffers(std::shared_ptr<Gpu> gpu) : gpu_{std::move(gpu)} {}
  PinnedBuffers(const PinnedBuffers&) = delete;
  PinnedBuffers& operator=(const PinnedBuffers&) = delete;
  ~PinnedBuffers() {
    for (Buffer& buffer : buffers_) {
      if (buffer.until) static_cast<void>(buffer.until->synchronize());
      gpu_->cuda->free_host(buffer.memory);
    }
  }

  /// A free buffer of at least `size` bytes, valid until the next call. Waits for the oldest copy when `max_pinned`
  /// copies go on.
  Result<Buffer*> lend(std::size_t size) {
    while (true) {
      FOREBAY_DO(free_complete());
      const auto fits = [&](const Buffer& buffer) { return !buffer.until && buffer.size >= size; };
      const auto found = std::ranges::find_if(buffers_, fits);
      if (found != buffers_.end()) {
        std::rotate(found, found + 1, buffers_.end());  // the oldest copy stays in front
        return &buffers_.back();
      }
      if (drop_one() || buffers_.size() < max_pinned) return allocate(size);
      FOREBAY_DO(buffers_.front().until->synchronize());
    }
  }

 private:
  Result<void> free_complete() {
    for (Buffer& buffer : buffers_) {
      if (!buffer.until) continue;
      FOREBAY_TRY(const bool complete, buffer.until->complete());
      if (complete) buffer.until.reset();
    }
    return {};
  }

  /// Gives back a free buffer, which is too small.
  bool drop_one() {
    const auto found = std::ranges::find_if(buffers_, [](const Buffer& buffer) { return !buffer.until; });
    if (found == buffers_.end()) return false;
    gpu_->cuda->free_host(found->memory);
    buffers_.erase(found);
    return true;
  }

  Result<Buffer*> allocate(std::size_t size) {
    const std::size_t rounded = std::bit_ceil(std::max(size, smallest_pinned));
    void* memory = nullptr;
    FOREBAY_DO(gpu_->cuda->check(gpu_->cuda->host_alloc(&memory, rounded, 0), "locking memory of the host"));
    buffers_.push_back({.memory = static_cast<std::byte*>(memory), .size = rounded});
    return &buffers_.back();
  }

  const std::shared_ptr<Gpu> gpu_;
  std::vector<Buffer> buffers_;  // in the order of their copies
};

/// The places of tensors in the memory of a batch.
struct Placed {
  std::vector<std::size_t> offsets;
  std::size_t size = gpu_alignment;  // of all of them; never 0
};

Result<Placed> place(std::span<const Tensor> host) {
  Placed out{.size = 0};
  for (const Tensor& tensor : host) {
    if (tensor.dtype == DType::string)
      return Error{Code::config, Detail::invalid_argument, "strings cannot be staged; they stay in the batch"};
    out.offsets.push_back(out.size);
    const std::size_t bytes = static_cast<std::size_t>(tensor.count()) * size_of(tensor.dtype);
    out.size += (bytes + gpu_alignment - 1) / gpu_alignment * gpu_alignment;
  }
  out.size = std::max(out.size, gpu_alignment);
  return out;
}

class GpuStaging final : public Staging {
 public:
  explicit GpuStaging(std::shared_ptr<Gpu> gpu) : gpu_{std::move(gpu)}, pinned_{gpu_} {}

  Result<std::shared_ptr<StagedTensors>> begin(std::span<const Tensor> host) override {
    FOREBAY_TRY(const Placed placed, place(host));
    const OnDevice current{*gpu_->cuda, gpu_->number};
    const engine::Lock lock{mutex_};
    FOREBAY_TRY(PinnedBuffers::Buffer* const buffer, pinned_.lend(placed.size));
    for (std::size_t i = 0; i < host.size(); ++i) {
      const std::size_t bytes = static_cast<std::size_t>(host[i].count()) * size_of(host[i].dtype);
      if (bytes > 0) std::memcpy(buffer->memory + placed.offsets[i], host[i].data, bytes);
    }
    void* raw = nullptr;
    FOREBAY_DO(check(gpu_->cuda->malloc_async(&raw, placed.size, gpu_->copies), "allocating memory"));
    auto memory = std::make_shared<GpuMemory>(gpu_, raw);
    auto copied = std::make_shared<CopyEvent>(gpu_);
    FOREBAY_DO(check(gpu_->cuda->memcpy_async(memory->data(), buffer->memory, placed.size, CudaRuntime::host_to_device,
                                              gpu_->copies),
                     "copying a batch"));
    FOREBAY_DO(copied->record());
    buffer->until = copied;
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < host.size(); ++i) {
      tensors.push_back({.dtype = host[i].dtype,
                         .shape = host[i].shape,
                         .data = memory->data() + placed.offsets[i],
                         .owner = memory});
    }
    return std::shared_ptr<StagedTensors>{
        std::make_shared<OnGpu>(std::move(tensors), std::move(memory), std::move(copied))};
  }

  [[nodiscard]] std::string device() const override { return fmt::format("cuda:{}", gpu_->number); }

 private:
  Result<void> check(int error, const char* what) const { return gpu_->cuda->check(error, what); }

  const std::shared_ptr<Gpu> gpu_;
  engine::Mutex mutex_;
  PinnedBuffers pinned_ GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<Staging>> cuda_staging(const CudaStaging& options) {
  FOREBAY_TRY(auto cuda, CudaRuntime::load(options.library, "stage on the CPU"));
  int devices = 0;
  if (const int error = cuda->get_device_count(&devices); error != 0) {
    return Error{
        Code::config, Detail::not_found,
        fmt::format("no GPU can be used: {} (CUDA error {}); stage on the CPU", cuda->error_string(error), error)};
  }
  if (options.device < 0 || options.device >= devices) {
    return Error{Code::config, Detail::not_found,
                 fmt::format("there is no GPU {}; this machine has {}, counted from 0", options.device, devices)};
  }
  auto gpu = std::make_shared<Gpu>(cuda, static_cast<int>(options.device));
  const OnDevice current{*gpu->cuda, gpu->number};
  FOREBAY_DO(cuda->check(cuda->stream_create(&gpu->copies, CudaRuntime::non_blocking_stream), "making a stream"));
  return std::shared_ptr<Staging>{std::make_shared<GpuStaging>(std::move(gpu))};
}

}  // namespace forebay
