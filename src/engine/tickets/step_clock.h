// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::engine {

/// How long each step of a program took: those of rows (Program::late), then those of batches (Program::after). The
/// Executor owns it. Thread-safe; one addition for each step of a ticket.
class StepClock {
 public:
  explicit StepClock(std::size_t steps) : ns_(steps) {}

  void add(std::size_t step, std::chrono::nanoseconds time) const {
    ns_[step].fetch_add(time.count(), std::memory_order_relaxed);
  }
  [[nodiscard]] double seconds(std::size_t step) const {
    return static_cast<double>(ns_[step].load(std::memory_order_relaxed)) * 1e-9;
  }

 private:
  mutable std::vector<std::atomic<std::int64_t>> ns_;
};

}  // namespace forebay::engine
