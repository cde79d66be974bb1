// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace forebay::engine {

/// Tracks whether the consumer currently counts as a worker (docs/adr/0012). A consumer that helps to make its batch
/// and asks for the next one within 0.1 ms is always busy. With all workers beside it the run would use one thread more
/// than it was given, so one worker rests while `stands_in()`. Owned by the Scheduler and guarded by its mutex.
class ConsumerTurn {
 public:
  using Clock = std::chrono::steady_clock;

  void enter(Clock::time_point now) {
    inside_ = true;
    came_at_once_ = now - left_ < at_once;
  }
  void leave(Clock::time_point now) {
    inside_ = false;
    left_ = now;
  }
  void helped() { stands_in_ = stands_in_ || came_at_once_; }  ///< The consumer did the work of a worker.
  void wait(bool waits) { waits_ = waits; }                    ///< The consumer begins or ends waiting for its batch.
  void stand_down() { stands_in_ = false; }                    ///< The consumer does not count as a worker any more.
  /// Ends the consumer's time as a worker if it has been away for more than 0.1 ms, or waits. The resting worker calls
  /// this every few milliseconds.
  void look(Clock::time_point now) {
    if (inside_ ? waits_ : now - left_ > at_once) stand_down();
  }

  [[nodiscard]] bool inside() const { return inside_; }  ///< Whether the consumer is inside `next`.
  [[nodiscard]] bool waits() const { return waits_; }
  [[nodiscard]] bool stands_in() const { return stands_in_; }

 private:
  static constexpr std::chrono::microseconds at_once{100};

  bool inside_ = false;
  bool waits_ = false;
  bool stands_in_ = false;
  bool came_at_once_ = false;
  Clock::time_point left_;
};

}  // namespace forebay::engine
