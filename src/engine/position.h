// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace forebay::engine {

/// Where a run stands: all that a restart needs (docs/adr/0005). Every order begins a pass from (seed, epoch) alone, so
/// the pass is gone through again, without decoding, up to the first batch that is still wanted.
struct Position {
  std::int64_t epoch = 0;   ///< The pass to begin with …
  std::int64_t batch = 0;   ///< … the batch that was being cut when it began …
  std::int64_t pulled = 0;  ///< … and the records of earlier passes that this batch already had.
  std::int64_t next = 0;    ///< The first batch to deliver.
  bool operator==(const Position&) const = default;
};

/// The part of every batch that this process takes: rows index · B / count up to (index + 1) · B / count.
struct Shard {
  std::int64_t index = 0;
  std::int64_t count = 1;
  std::string source = {};  ///< What "auto" went by, "torchrun"; empty when it was said.
};

}  // namespace forebay::engine
