// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

namespace forebay::stores::http {

/// A value of each process: a child after a fork makes its own, and leaves that of its parent alone, whose locks may be
/// taken for ever. Thread-safe.
template <class T>
class PerProcess {
 public:
  PerProcess() = default;
  ~PerProcess() {
    Own* const own = own_.load(std::memory_order_acquire);
    if (own != nullptr && own->process == getpid()) std::unique_ptr<Own>{own}.reset();
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  /// Made by `make()`, a unique_ptr, when this process asks for it first.
  template <class Make>
  [[nodiscard]] T& get(Make make) {
    Own* now = own_.load(std::memory_order_acquire);
    if (now != nullptr && now->process == getpid()) return *now->value;
    auto made = std::make_unique<Own>(Own{getpid(), make()});
    if (own_.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) return *made.release()->value;
    return *now->value;
  }

 private:
  struct Own {
    pid_t process;
    std::unique_ptr<T> value;
  };
  std::atomic<Own*> own_{nullptr};
};

}  // namespace forebay::stores::http
