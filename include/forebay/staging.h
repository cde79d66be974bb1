// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/batch.h>
#include <forebay/loader.h>

/// Batches that are brought to the memory of a device before they are used.
namespace forebay {

namespace engine {
class BufferPool;
}

/// Tensors on their way to a device. It and the tensors may outlive the Staging that made them.
class StagedTensors {
 public:
  explicit StagedTensors(std::vector<Tensor> made) : tensors{std::move(made)} {}
  virtual ~StagedTensors() = default;
  /// Makes work that is put into `stream` from now on begin after the copies; does not wait itself. The stream must
  /// outlive the tensors: their memory is used again after the work that was put into it before they are dropped.
  /// CPU: nothing to do, and `stream` is null.
  [[nodiscard]] virtual Result<void> wait(void* stream) = 0;
  [[nodiscard]] virtual Result<bool> ready() const = 0;  ///< Whether the copies are complete. Does not wait.

  /// In the order of `begin`. `data` is memory of the device; the processor must not read it unless it is the CPU's.
  const std::vector<Tensor> tensors;
};

/// Brings tensors to a device. Thread-safe.
class Staging {
 public:
  virtual ~Staging() = default;
  /// Begins to copy tensors of numbers, and does not wait for it. `host` may be changed or freed when it returns. Fails
  /// with Code::config for strings, and with Code::io when the device refuses.
  [[nodiscard]] virtual Result<std::shared_ptr<StagedTensors>> begin(std::span<const Tensor> host) = 0;
  [[nodiscard]] virtual std::string device() const = 0;  ///< "cpu" or "cuda:0".
};

/// Hands over the memory of the host itself: for tests, and for programs that run with and without a device.
[[nodiscard]] std::shared_ptr<Staging> cpu_staging();

/// What `cuda_staging` needs to know.
struct CudaStaging {
  std::int64_t device = 0;  ///< Number of the GPU.
  /// Path of the CUDA runtime library. Empty: the one that the process has loaded, else the one of the system
  /// (libcudart.so of any version from 11.2 on).
  std::string library = {};
};

/// Copies to a GPU: through page-locked buffers, which are used again, in a stream of its own. The CUDA runtime is
/// loaded when this is called; nothing of CUDA is needed to build Forebay. Fails with Code::config when there is no
/// runtime or no such GPU.
[[nodiscard]] Result<std::shared_ptr<Staging>> cuda_staging(const CudaStaging& options = {});

/// What `cuda_pinned_memory` needs to know.
struct CudaPinning {
  std::int64_t device = -1;  ///< Number of the GPU that batches are copied to; -1: the current one of this thread.
  std::string library = {};  ///< As CudaStaging::library.
};

/// Page-locked memory for the batches of any number of runs, for RunOptions::pin_memory (docs/adr/0061). Fails with
/// Code::config when there is no runtime or no such GPU, with Code::io when memory cannot be locked.
[[nodiscard]] Result<std::shared_ptr<PinnedMemory>> cuda_pinned_memory(const CudaPinning& options = {});

/// Bytes in memory of ReceivedMemory.
struct ReceivedBytes {
  Tensor tensor;               ///< uint8 [size]; owns the memory.
  std::uint32_t checksum = 0;  ///< CRC-32C of the bytes.
};

/// Memory for batches that other processes make. It is used again when the last owner drops it, and page-locked on
/// request. Thread-safe. What it gave may outlive it.
class ReceivedMemory {
 public:
  /// `keep`: bytes that it holds at most for further copies. `pinned`: as RunOptions::pin_memory.
  explicit ReceivedMemory(std::int64_t keep, const std::shared_ptr<PinnedMemory>& pinned = {});
  /// Copies the bytes, and reads the checksum from the copy. Fails with Code::io when no more memory can be locked.
  [[nodiscard]] Result<ReceivedBytes> copy(std::span<const std::byte> bytes);
  [[nodiscard]] std::int64_t pinned() const;  ///< Bytes that are page-locked now.

 private:
  std::shared_ptr<engine::BufferPool> pool_;
};

/// For a program that copies a tensor of a batch to a device in a stream of its own: the tensor's memory is not used
/// again before the work that was put into the stream so far is done. Copies in the default stream of the GPU of
/// `cuda_pinned_memory` need no call. Does nothing for memory that is not page-locked; fails with Code::io when the
/// device does. Called after the copy was begun and before the last copy of the Tensor is dropped, by one thread at a
/// time.
[[nodiscard]] Result<void> record_stream(const Tensor& host, std::int64_t device, void* stream);
[[nodiscard]] Result<void> record_stream(const Batch& host, std::int64_t device, void* stream);  ///< Of all tensors.
[[nodiscard]] bool page_locked(const Tensor& host);  ///< Whether it lies in memory of RunOptions::pin_memory.

/// A batch, and those of its tensors that are on the device.
struct StagedBatch {
  Batch batch;                            ///< On the host, with lengths, epoch, keys and position.
  std::shared_ptr<StagedTensors> staged;  ///< Its dense numeric tensors …
  std::vector<std::string> names;         ///< … and their names, in the same order.
  /// The tensor on the device; null when the batch has no dense numeric tensor of that name.
  [[nodiscard]] const Tensor* find(std::string_view name) const;
};

/// The batches of a loader, of which the copies of the next ones were begun when one is given. One thread at a time.
///
///     loader ─► begin: the copy goes on ─► line of at most `ahead` batches ─► next: the batch, and its tensors
///
/// Batches are taken from the loader as soon as they are ready; `next` waits for the loader only when the line is
/// empty.
class StagedBatches {
 public:
  /// `loader` must outlive this object and must not be moved; nothing else takes batches from it.
  StagedBatches(Loader& loader, std::shared_ptr<Staging> staging, std::int64_t ahead = 2)
      : loader_{&loader}, staging_{std::move(staging)}, ahead_{ahead} {}

  /// The next batch; nothing at the end. An error comes after the batches before it, and again at every further call.
  [[nodiscard]] Result<std::optional<StagedBatch>> next();
  [[nodiscard]] std::int64_t waiting() const { return std::ssize(line_); }  ///< Batches that were staged and not given.
  /// The state after the last batch that `next` gave, as Loader::state.
  [[nodiscard]] Result<Json> state() const;
  /// As Loader::restore; drops the batches of the line.
  [[nodiscard]] Result<void> restore(const Json& state, std::span<const std::string> accept = {});

 private:
  void fill();
  void stage(Batch batch);

  Loader* loader_;
  std::shared_ptr<Staging> staging_;
  std::int64_t ahead_;
  std::deque<StagedBatch> line_;
  std::optional<Error> failure_;  // after the batches of the line
  bool ended_ = false;            // the loader has no more batches
  std::optional<Json> given_;     // the position of the last batch that was given, if there was one
  std::optional<Json> begin_;     // the position before the first one
};

}  // namespace forebay
