// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace forebay::engine {

/// What worker time goes into.
enum class Work : std::uint8_t { scan, order, decode, idle };

/// What each thread of a run is at, for who waits for a batch and wonders. The last thread is the caller of `next`. Not
/// for several threads at once.
class Activity {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Activity(std::size_t threads) : threads_(threads) {}

  /// `what`: the number of the file that is scanned, or of the batch.
  void begin(std::size_t thread, Work work, std::int64_t what, Clock::time_point since) {
    threads_[thread] = {work, what, since};
  }
  void rest(std::size_t thread, Clock::time_point since) { threads_[thread] = {Work::idle, 0, since}; }
  [[nodiscard]] bool at_rest() const;  ///< Nobody is at anything.
  /// In words, with the time for which each has been at it.
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
