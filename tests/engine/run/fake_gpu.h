// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <forebay/staging.h>

#include "tests/support/cuda/fake_cudart.h"

namespace forebay::testing {

/// The library of fake_cudart.cc, with counts from 0.
class FakeGpu {
 public:
  FakeGpu() : library_{dlopen(FOREBAY_FAKE_CUDART, RTLD_NOW | RTLD_LOCAL)} {
    cuda = reinterpret_cast<FakeCuda* (*)()>(dlsym(library_, "fake_cuda"))();
    advance = reinterpret_cast<FakeCudaAdvance*>(dlsym(library_, "fake_cuda_advance"));
    copy = reinterpret_cast<FakeCudaCopy*>(dlsym(library_, "cudaMemcpyAsync"));
    set_device = reinterpret_cast<FakeCudaSetDevice*>(dlsym(library_, "cudaSetDevice"));
  }
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;
  ~FakeGpu() { advance(1'000); }  // also the ends of memory that are left
  static CudaStaging options(std::int64_t device = 0) { return {.device = device, .library = FOREBAY_FAKE_CUDART}; }
  static Result<std::shared_ptr<PinnedMemory>> pins(std::int64_t device = -1) {
    return cuda_pinned_memory({.device = device, .library = FOREBAY_FAKE_CUDART});
  }

  FakeCuda* cuda;
  FakeCudaAdvance* advance;
  FakeCudaCopy* copy;
  FakeCudaSetDevice* set_device;

 private:
  void* library_;
};

}  // namespace forebay::testing
