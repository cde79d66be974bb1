// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <forebay/error.h>

namespace forebay::engine {

/// The functions of the CUDA runtime library that staging and page-locked memory call, by the declarations of its
/// documentation
/// (`cuda_runtime_api.h`, the same since 11.2). Loaded when they are needed, and never unloaded: memory of a device may
/// be freed at any time, also when the process ends.
///
/// A function returns 0 for success, `not_ready` from `event_query`, else an error.
struct CudaRuntime {
  static constexpr int not_ready = 600;
  static constexpr unsigned non_blocking_stream = 1;  // does not wait for the default stream
  static constexpr unsigned event_without_time = 2;
  static constexpr int host_to_device = 1;
  static constexpr unsigned register_portable = 1;  // page-locked for all devices
  static constexpr int capture_mode_relaxed = 2;

  int (*get_device_count)(int* count) = nullptr;
  int (*get_device)(int* device) = nullptr;
  int (*set_device)(int device) = nullptr;
  const char* (*error_string)(int error) = nullptr;
  int (*get_last_error)() = nullptr;  // clears it
  int (*stream_create)(void** stream, unsigned flags) = nullptr;
  int (*stream_destroy)(void* stream) = nullptr;
  int (*stream_wait_event)(void* stream, void* event, unsigned flags) = nullptr;
  int (*event_create)(void** event, unsigned flags) = nullptr;
  int (*event_destroy)(void* event) = nullptr;
  int (*event_record)(void* event, void* stream) = nullptr;
  int (*event_query)(void* event) = nullptr;
  int (*event_synchronize)(void* event) = nullptr;
  int (*host_alloc)(void** memory, std::size_t size, unsigned flags) = nullptr;
  int (*free_host)(void* memory) = nullptr;
  int (*host_register)(void* memory, std::size_t size, unsigned flags) = nullptr;
  int (*host_unregister)(void* memory) = nullptr;
  int (*exchange_capture_mode)(int* mode) = nullptr;  // of the thread
  int (*malloc_async)(void** memory, std::size_t size, void* stream) = nullptr;
  int (*free_async)(void* memory, void* stream) = nullptr;
  int (*memcpy_async)(void* to, const void* from, std::size_t size, int kind, void* stream) = nullptr;

  /// Empty: the library that the process has loaded, else that of the system. Fails with Code::config and says how to
  /// go on without it.
  [[nodiscard]] static Result<std::shared_ptr<const CudaRuntime>> load(const std::string& library,
                                                                       std::string_view without);

  /// Fails with Code::io and the runtime's words when `error` is one.
  [[nodiscard]] Result<void> check(int error, const char* what) const;
};

}  // namespace forebay::engine
