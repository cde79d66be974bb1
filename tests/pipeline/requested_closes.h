// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <forebay/loader.h>
#include <gtest/gtest.h>

#include "tests/support/slow_files.h"

namespace forebay::testing {

/// Closes loaders of two plans over SlowFiles in turn, after other numbers of batches, while no request is answered.
inline void check_closes(const Plan& one, const Plan& other, int rounds) {
  using namespace std::chrono_literals;
  tests::SlowFiles& slow = tests::SlowFiles::get();
  for (int round = 0; round < rounds; ++round) {
    slow.behave({.latency = std::chrono::microseconds{100 * (round % 7)}});
    auto loader = Loader::start(round % 2 != 0 ? one : other, {.threads = 1 + round % 3});
    ASSERT_TRUE(loader.ok());
    bool timed_out = false;
    for (int i = 0; i < round % 5; ++i) ASSERT_TRUE(loader->next_within(50ms, timed_out).ok());
    slow.behave({.never = true});
    static_cast<void>(loader->next_within(5ms, timed_out));
    const auto since = std::chrono::steady_clock::now();
    loader->close();
    EXPECT_LT(std::chrono::steady_clock::now() - since, 2s) << "round " << round;
  }
}

}  // namespace forebay::testing
