// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <fmt/core.h>

#include <forebay/step.h>

#include "engine/memory/buffer_pool.h"

namespace forebay::engine {

/// The memory budget as steps see it. Lives for one call of a step; `pool` must outlive it.
class PoolBudget final : public StepBudget {
 public:
  explicit PoolBudget(BufferPool& pool) : pool_{pool} {}
  [[nodiscard]] Result<std::shared_ptr<void>> charge(std::int64_t bytes) const override {
    if (bytes <= pool_.limit()) return pool_.charge(bytes);
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("{} bytes are needed, more than the memory budget of {} bytes; raise `memory`", bytes,
                             pool_.limit())};
  }

 private:
  BufferPool& pool_;
};

}  // namespace forebay::engine
