// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "queues/saver_memory.h"
#include "queues/saver_plan.h"

namespace forebay::queues {

/// An example whose last segment is not taken yet. One owner at a time: the saver while the example is ready, a batch
/// between `take` and the save of its last state. Only the owner touches `next`, `states` and `texts`.
struct LiveExample {
  std::shared_ptr<const std::string> key;
  std::int64_t epoch = 0;
  std::int64_t index = 0;   // of insertion
  std::int64_t frames = 0;  // without padding
  std::int32_t length = 0, count = 0;
  std::int32_t next = 0;  // the segment that is taken next
  std::vector<Tensor> sequences, context;
  std::vector<std::byte> states;  // numbers, at SaverColumn::offset
  std::vector<Tensor> texts;      // by state; only those of strings are set
};

/// Checks an example and copies what it does not share (SaverExample) to memory of `memory`. It has no index yet.
[[nodiscard]] Result<std::unique_ptr<LiveExample>> make_live(const SaverPlan& plan, SaverExample example,
                                                             SaverMemory& memory);

/// A tensor with memory of its own.
[[nodiscard]] Tensor copy_of(const Tensor& tensor);
/// The strings `first` … `first + count` of `from`, as a tensor of that shape with memory of its own.
[[nodiscard]] Tensor copy_texts(const Tensor& from, std::int64_t first, std::int64_t count, const Shape& shape);
[[nodiscard]] Tensor empty_texts(const Shape& shape);

}  // namespace forebay::queues
