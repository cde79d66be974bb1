// SPDX-License-Identifier: Apache-2.0
// When the caller of next counts as one of the threads.
#include "engine/caller.h"

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

using namespace std::chrono_literals;

constexpr Caller::Clock::time_point start{1h};

Caller came_back_after(std::chrono::microseconds away) {
  Caller caller;
  caller.enter(start);
  caller.leave(start + 1ms);
  caller.enter(start + 1ms + away);
  return caller;
}

TEST(Caller, StandsInWhenItHelpsAndCameBackAtOnce) {
  Caller caller = came_back_after(99us);
  EXPECT_FALSE(caller.stands_in());
  caller.helped();
  EXPECT_TRUE(caller.stands_in());
  caller.stand_down();
  EXPECT_FALSE(caller.stands_in());
}

TEST(Caller, DoesNotStandInWhenItComesForTheFirstTimeOrWasAway) {
  Caller first;
  first.enter(start);
  first.helped();
  EXPECT_FALSE(first.stands_in());
  Caller late = came_back_after(100us);
  late.helped();
  EXPECT_FALSE(late.stands_in());
}

TEST(Caller, StaysWhileItWorksOrIsBackSoonAndGoesWhenItWaitsOrStaysAway) {
  Caller caller = came_back_after(0us);
  caller.helped();
  caller.look(start + 1h);
  EXPECT_TRUE(caller.stands_in());  // inside, at work
  caller.leave(start + 2h);
  caller.look(start + 2h + 100us);
  EXPECT_TRUE(caller.stands_in());
  caller.look(start + 2h + 101us);
  EXPECT_FALSE(caller.stands_in());

  Caller waiting = came_back_after(0us);
  waiting.helped();
  waiting.wait(true);
  waiting.look(start + 2ms);
  EXPECT_FALSE(waiting.stands_in());
}

}  // namespace
}  // namespace forebay::engine
