// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/fork_guard.h"

#include <atomic>

#include <pthread.h>

namespace forebay::engine {

namespace {
std::atomic<std::uint64_t> generation{0};
}  // namespace

std::uint64_t fork_generation() {
  static const bool told = [] {
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
    return true;
  }();
  static_cast<void>(told);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace forebay::engine
