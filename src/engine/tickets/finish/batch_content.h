// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/batch.h>

#include "engine/order/order_plane.h"

namespace forebay {

namespace engine {

/// A row that was taken out of its batch, because its record is corrupt.
struct SkippedRow {
  std::int64_t row = 0;     ///< Its row before.
  std::uint32_t file = 0;   ///< Number of the file in the source's list.
  std::int64_t record = 0;  ///< As in Origin.
  std::int64_t offset = 0;  ///< As in Origin.
  std::int64_t bytes = 0;   ///< Of the record.
  Error error;
};

}  // namespace engine

/// What a delivered batch consists of. Immutable once it is delivered; owned by the batches that share it.
struct Batch::Content {
  std::shared_ptr<const engine::Program> program;
  std::shared_ptr<const std::vector<std::string>> names;
  std::vector<Value> values;                   ///< In the order of `names`.
  std::vector<std::optional<Tensor>> lengths;  ///< In the order of `names`; empty: the value is not padded.
  engine::BatchLayout layout;
  std::vector<engine::SkippedRow> skipped;
  std::int64_t frames = 0, padded_frames = 0;  ///< Of padded tensors; see Stats.
};

namespace engine {

/// The frames of a tensor of a batch, along its first axis: those of its rows, and with their padding.
struct FrameCount {
  std::int64_t real = 0, padded = 0;
};
[[nodiscard]] FrameCount frames_of(const Batch::Content& content, std::size_t output);

}  // namespace engine

}  // namespace forebay
