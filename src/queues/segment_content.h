// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forebay/state_saver.h>

#include "queues/live_example.h"
#include "queues/saver_memory.h"

namespace forebay {

/// A batch of a state saver. Its tensors never change. The rest belongs to the core: `rows` and `saved` are guarded by
/// the mutex of the core, but only the caller of `save_state` whose state is `claimed` writes that state of the rows.
struct SegmentBatch::Content {
  enum class Saved : std::uint8_t { no, claimed, yes };

  explicit Content(std::shared_ptr<queues::SaverCore> of) : core{std::move(of)} {}
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content();  // the examples of `rows` cannot go on

  const std::shared_ptr<queues::SaverCore> core;
  std::vector<Tensor> sequences, context, states;
  Tensor sequence, sequence_count, length, total_length, insertion_index, epoch, reset;
  std::vector<std::shared_ptr<const std::string>> keys;  // null: an empty row

  std::vector<std::unique_ptr<queues::LiveExample>> rows;  // null: no segment follows
  std::vector<Saved> saved;                                // by state
  bool out = false;                                        // the core knows this batch
};

namespace queues {

/// Fills the tensors with the next segments of `rows`; a row of null is empty. `rows` does not change.
void fill(SegmentBatch::Content& to, const SaverPlan& plan, const std::vector<std::unique_ptr<LiveExample>>& rows,
          SaverMemory& memory);

/// Copies state number `state` of each row into its example. Fails when type or shape is wrong; nothing is copied then.
[[nodiscard]] Result<void> check_values(const SegmentBatch::Content& batch, const SaverPlan& plan, std::size_t state,
                                        const Tensor& values);
void copy_values(const SegmentBatch::Content& batch, const SaverPlan& plan, std::size_t state, const Tensor& values);

}  // namespace queues
}  // namespace forebay
