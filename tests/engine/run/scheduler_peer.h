// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/run/scheduler.h"

namespace forebay::engine {

/// Sees and does what no plan can.
struct SchedulerPeer {
  /// The order is taken, and nobody decides it.
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
