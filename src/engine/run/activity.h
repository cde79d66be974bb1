// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace forebay::engine {

/// Kinds of work that a thread spends its time on.
enum class Work : std::uint8_t { scan, order, decode, idle };

/// What each thread of a run is doing, for messages about a batch that does not come. The last entry is the consumer.
/// Owned by the Scheduler and guarded by its mutex.
class Activity {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Activity(std::size_t threads) : threads_(threads) {}

  /// Thread `thread` begins `work`. `what` is the number of the file that it scans, or of the batch.
  void begin(std::size_t thread, Work work, std::int64_t what, Clock::time_point since) {
    threads_[thread] = {work, what, since};
  }
  void rest(std::size_t thread, Clock::time_point since) { threads_[thread] = {Work::idle, 0, since}; }
  [[nodiscard]] bool at_rest() const;  ///< All threads are idle.
  /// One clause for each thread: what it does, and for how long.
  [[nodiscard]] std::string text(const std::vector<std::string>& files, Clock::time_point now) const;

 private:
  struct Thread {
    Work work = Work::idle;
    std::int64_t what = 0;
    Clock::time_point since = Clock::now();
  };
  std::vector<Thread> threads_;
};

}  // namespace forebay::engine
