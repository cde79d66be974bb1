// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

TEST(Machine, ProcessesOfAJobAreCountedWhereTheLauncherTells) {
  const std::array<const char*, 6> texts{nullptr, "8", "0", "-3", "eight", "4x"};
  std::vector<std::int64_t> found;
  for (const char* text : texts) found.push_back(processes_here(text));
  EXPECT_EQ(found, (std::vector<std::int64_t>{1, 8, 1, 1, 1, 1}));
}

TEST(Machine, ProcessesOfAJobShareThreadsAndMemory) {
  const std::int64_t memory = usual_memory();
  ASSERT_EQ(setenv("LOCAL_WORLD_SIZE", "4", 1), 0);
  EXPECT_EQ(usual_memory(), memory / 4);
  EXPECT_LE(usual_threads(), std::max<std::int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN) / 4));
  ASSERT_EQ(setenv("LOCAL_WORLD_SIZE", "1024", 1), 0);
  EXPECT_EQ(usual_threads(), 1);
  ASSERT_EQ(unsetenv("LOCAL_WORLD_SIZE"), 0);
}

}  // namespace
}  // namespace forebay::engine
