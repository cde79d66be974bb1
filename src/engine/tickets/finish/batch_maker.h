// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"
#include "engine/tickets/error_places.h"
#include "engine/tickets/finish/batch_recycler.h"
#include "engine/tickets/job.h"
#include "engine/tickets/step_clock.h"

namespace forebay::engine {

/// Makes the batch of a job whose tickets have all run. Const: any number of threads call it at once.
class BatchMaker {
 public:
  /// `clock`, `errors` and `branches` outlive this object. `branches`: null without a combination.
  BatchMaker(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, const StepClock& clock,
             const ErrorPlaces& errors, const BranchTickets* branches);

  [[nodiscard]] std::optional<Error> make(Job& job) const;  ///< Makes `content`.

 private:
  void count_frames(Batch::Content& content) const;
  void clear_empty_rows(const Job& job) const;
  [[nodiscard]] std::optional<Error> too_large(const Job& job) const;

  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<BufferPool> pool_;
  const StepClock& clock_;
  const ErrorPlaces& errors_;
  const BranchTickets* const branches_;
  const std::shared_ptr<BatchRecycler> contents_;
  std::vector<std::size_t> padded_;  // outputs whose frames are padded
};

}  // namespace forebay::engine
