// SPDX-License-Identifier: Apache-2.0
// Tests when the consumer counts as one of the threads.
#include "engine/run/consumer_turn.h"

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

using namespace std::chrono_literals;

constexpr ConsumerTurn::Clock::time_point start{1h};

ConsumerTurn came_back_after(std::chrono::microseconds away) {
  ConsumerTurn caller;
  caller.enter(start);
  caller.leave(start + 1ms);
  caller.enter(start + 1ms + away);
  return caller;
}

TEST(ConsumerTurn, StandsInWhenItHelpsAndCameBackAtOnce) {
  ConsumerTurn caller = came_back_after(99us);
  EXPECT_FALSE(caller.stands_in());
  caller.helped();
  EXPECT_TRUE(caller.stands_in());
  caller.stand_down();
  EXPECT_FALSE(caller.stands_in());
}

TEST(ConsumerTurn, DoesNotStandInWhenItComesForTheFirstTimeOrWasAway) {
  ConsumerTurn first;
  first.enter(start);
  first.helped();
  EXPECT_FALSE(first.stands_in());
  ConsumerTurn late = came_back_after(100us);
  late.helped();
  EXPECT_FALSE(late.stands_in());
}

TEST(ConsumerTurn, StaysWhileItWorksOrIsBackSoonAndGoesWhenItWaitsOrStaysAway) {
  ConsumerTurn caller = came_back_after(0us);
  caller.helped();
  caller.look(start + 1h);
  EXPECT_TRUE(caller.stands_in());  // inside, at work
  caller.leave(start + 2h);
  caller.look(start + 2h + 100us);
  EXPECT_TRUE(caller.stands_in());
  caller.look(start + 2h + 101us);
  EXPECT_FALSE(caller.stands_in());

  ConsumerTurn waiting = came_back_after(0us);
  waiting.helped();
  waiting.wait(true);
  waiting.look(start + 2ms);
  EXPECT_FALSE(waiting.stands_in());
}

}  // namespace
}  // namespace forebay::engine
