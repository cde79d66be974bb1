// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace forebay::engine {

/// Estimates how long tickets take, from those that ran: nanoseconds per KiB of records. Tickets are cut by it, so that
/// each takes about two milliseconds. The cut never changes what is delivered. Thread-safe.
class TicketCost {
 public:
  static constexpr std::int64_t wanted_ns = 2'000'000;
  static constexpr std::int64_t long_ns = 10'000'000;  ///< Longer tickets are not for the thread that calls `next`.

  void add(std::int64_t bytes, std::chrono::nanoseconds took) {
    const std::int64_t cost = std::min(took.count(), max_ns) * 1024 / std::max<std::int64_t>(bytes, min_bytes);
    const std::int64_t old = ns_per_kib_.load(std::memory_order_relaxed);
    ns_per_kib_.store(old == 0 ? cost : old + (cost - old) / 4, std::memory_order_relaxed);
  }
  /// Nanoseconds for records of so many bytes; 0: no ticket has run yet.
  [[nodiscard]] std::int64_t of(std::int64_t bytes) const {
    const std::int64_t cost = ns_per_kib_.load(std::memory_order_relaxed);
    std::int64_t out = 0;
    return __builtin_mul_overflow(cost, bytes, &out) ? INT64_MAX : out / 1024;
  }

 private:
  static constexpr std::int64_t max_ns = 1'000'000'000'000;  // a thousand seconds
  static constexpr std::int64_t min_bytes = 256;             // smaller tickets cost what being a ticket costs
  std::atomic<std::int64_t> ns_per_kib_{0};
};

}  // namespace forebay::engine
