// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include <forebay/queue.h>
#include <gtest/gtest.h>

/// Queues of int64 numbers for tests.
namespace forebay::tests {

inline constexpr std::chrono::milliseconds now{0};

/// [values], which owns its memory.
inline QueueElement rows(std::vector<std::int64_t> values) {
  const auto memory = std::make_shared<std::vector<std::int64_t>>(std::move(values));
  Tensor tensor{.dtype = DType::int64, .shape = Shape{std::ssize(*memory)}};
  tensor.data = reinterpret_cast<std::byte*>(memory->data());
  tensor.owner = memory;
  return {tensor};
}

inline QueueElement element(std::int64_t value) {
  QueueElement out = rows({value});
  out.front().shape = {};
  return out;
}

inline Queue queue_of(QueueOptions options) {
  auto made = Queue::make(std::move(options));
  EXPECT_TRUE(made.ok()) << made.error().text();
  return *std::move(made);
}

inline std::vector<std::int64_t> numbers_of(const Result<TakenElements>& taken) {
  EXPECT_TRUE(taken.ok()) << taken.error().text();
  if (!taken.ok() || taken->tensors.empty()) return {};
  const auto values = taken->tensors.front().as<std::int64_t>();
  return {values.begin(), values.end()};
}

inline std::int64_t number_of(const Result<TakenElements>& taken) {
  const std::vector<std::int64_t> all = numbers_of(taken);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? -1 : all.front();
}

}  // namespace forebay::tests
