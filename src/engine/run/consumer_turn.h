// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace forebay::engine {

/// Where the caller of `next` is, and whether it works in a worker's place. A caller that helps with its batch and is
/// back for another one at once is always at work: with every worker beside it there were one thread more than asked
/// for, which the system moves about between the processors (docs/adr/0003). Not for several threads at once.
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
  void helped() { stands_in_ = stands_in_ || came_at_once_; }  ///< It did what a worker would have done.
  void wait(bool waits) { waits_ = waits; }
  void stand_down() { stands_in_ = false; }
  /// Stands down when it has been away for too long, or waits for others. For who rests in its stead, now and then.
  void look(Clock::time_point now) {
    if (inside_ ? waits_ : now - left_ > at_once) stand_down();
  }

  [[nodiscard]] bool inside() const { return inside_; }
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
