// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/run/staging/cuda_runtime.h"

namespace forebay::engine {

/// Makes a GPU the current one of this thread, and afterwards the one that it was before. Meanwhile calls of the thread
/// do not disturb a CUDA graph that another thread captures.
class OnDevice {
 public:
  OnDevice(const CudaRuntime& cuda, int device) : cuda_{cuda}, device_{device} {
    cuda_.exchange_capture_mode(&mode_);
    if (cuda_.get_device(&before_) != 0) before_ = device_;
    if (before_ != device_) cuda_.set_device(device_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (before_ != device_) cuda_.set_device(before_);
    cuda_.exchange_capture_mode(&mode_);
  }

 private:
  const CudaRuntime& cuda_;
  const int device_;
  int before_ = 0;
  int mode_ = CudaRuntime::capture_mode_relaxed;  // the exchange puts the one before here
};

}  // namespace forebay::engine
