// SPDX-License-Identifier: Apache-2.0
#include "engine/run/staging/cuda_runtime.h"

#include <dlfcn.h>

#include <array>
#include <vector>

#include <fmt/core.h>

namespace forebay::engine {

namespace {

constexpr std::array runtimes{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};

/// Sets `function` to the library's function of that name. Returns false when it has none.
template <class Function>
bool look_up(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// The first function that the library lacks; null: it has all.
const char* look_up_all(void* library, CudaRuntime& out) {
  const auto need = [library](const char* name, auto*& function) {
    return look_up(library, name, function) ? nullptr : name;
  };
  for (const char* missing : {need("cudaGetDeviceCount", out.get_device_count),
                              need("cudaGetDevice", out.get_device),
                              need("cudaSetDevice", out.set_device),
                              need("cudaGetErrorString", out.error_string),
                              need("cudaGetLastError", out.get_last_error),
                              need("cudaStreamCreateWithFlags", out.stream_create),
                              need("cudaStreamDestroy", out.stream_destroy),
                              need("cudaStreamWaitEvent", out.stream_wait_event),
                              need("cudaEventCreateWithFlags", out.event_create),
                              need("cudaEventDestroy", out.event_destroy),
                              need("cudaEventRecord", out.event_record),
                              need("cudaEventQuery", out.event_query),
                              need("cudaEventSynchronize", out.event_synchronize),
                              need("cudaHostAlloc", out.host_alloc),
                              need("cudaFreeHost", out.free_host),
                              need("cudaHostRegister", out.host_register),
                              need("cudaHostUnregister", out.host_unregister),
                              need("cudaThreadExchangeStreamCaptureMode", out.exchange_capture_mode),
                              need("cudaMallocAsync", out.malloc_async),
                              need("cudaFreeAsync", out.free_async),
                              need("cudaMemcpyAsync", out.memcpy_async)}) {
    if (missing != nullptr) return missing;
  }
  return nullptr;
}

Error no_runtime(const std::string& why, std::string_view without) {
  return Error{
      Code::config, Detail::not_found,
      fmt::format("the CUDA runtime cannot be used: {}; install it, import torch first if that brings one, give "
                  "its path, or {}",
                  why, without)};
}

}  // namespace

Result<std::shared_ptr<const CudaRuntime>> CudaRuntime::load(const std::string& library, std::string_view without) {
  std::vector<std::string> names{runtimes.begin(), runtimes.end()};
  if (!library.empty()) names = {library};
  void* handle = nullptr;
  std::string why;
  for (std::size_t i = 0; i < names.size() && handle == nullptr; ++i)
    handle = dlopen(names[i].c_str(), RTLD_NOW | RTLD_NOLOAD);  // another library of this process may use it already
  for (std::size_t i = 0; i < names.size() && handle == nullptr; ++i) {
    handle = dlopen(names[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) continue;
    const char* const problem = dlerror();
    why += fmt::format("{}{}", why.empty() ? "" : ", ", problem != nullptr ? problem : names[i].c_str());
  }
  if (handle == nullptr) return no_runtime(why, without);
  auto out = std::make_shared<CudaRuntime>();
  if (const char* const missing = look_up_all(handle, *out); missing != nullptr)
    return no_runtime(fmt::format("it has no {}, which it has from version 11.2 on", missing), without);
  return std::shared_ptr<const CudaRuntime>{std::move(out)};
}

Result<void> CudaRuntime::check(int error, const char* what) const {
  if (error == 0) return {};
  static_cast<void>(get_last_error());
  const char* const words = error_string(error);
  return Error{
      Code::io, Detail::resource_exhausted,
      fmt::format("{} on the GPU failed: {} (CUDA error {})", what, words != nullptr ? words : "unknown", error)};
}

}  // namespace forebay::engine
