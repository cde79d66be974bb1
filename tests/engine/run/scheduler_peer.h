// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/run/scheduler.h"

namespace forebay::engine {

/// Access to the inside of a scheduler, for states that no plan can reach.
struct SchedulerPeer {
  /// Takes the baton, and no thread decides the order.
  static void take_baton(Scheduler& scheduler) {
    const Lock lock{scheduler.mutex_};
    scheduler.baton_taken_ = true;
  }
  /// Whether the last batch has been decided.
  static bool order_over(Scheduler& scheduler) {
    const Lock lock{scheduler.mutex_};
    return scheduler.order_over_;
  }
};

}  // namespace forebay::engine
