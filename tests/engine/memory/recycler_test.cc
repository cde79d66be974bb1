// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/recycler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::engine {
namespace {

TEST(Recycler, TheObjectGivenLastIsTakenFirst) {
  Recycler<int> list;
  EXPECT_EQ(list.take(), nullptr);
  list.give(std::make_unique<int>(1));
  list.give(std::make_unique<int>(2));
  EXPECT_EQ(*list.take(), 2);
  EXPECT_EQ(*list.take(), 1);
  EXPECT_EQ(list.take(), nullptr);
}

TEST(Recycler, ObjectsOverTheMaximumAreDropped) {
  Recycler<int> list;
  for (const int value : {1, 2, 3}) list.give(std::make_unique<int>(value), 2);
  EXPECT_EQ(*list.take(), 2);
  list.clear();
  EXPECT_EQ(list.take(), nullptr);
}

TEST(Recycler, AForkedChildDestroysNothingThatIsGivenBack) {
  struct Object {
    ~Object() { ++*destroyed; }
    int* destroyed;
  };
  int destroyed = 0;
  Recycler<Object> list;
  const pid_t child = fork();
  if (child == 0) {
    list.give(std::unique_ptr<Object>{new Object{&destroyed}});
    _exit(list.orphaned() && destroyed == 0 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace forebay::engine
