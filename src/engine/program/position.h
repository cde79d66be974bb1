// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <forebay/loader.h>

namespace forebay::engine {

/// Where a run stands: all that a restart needs (docs/adr/0005). Every order begins a pass from (seed, epoch) alone, so
/// the pass is gone through again, without decoding, up to the first batch that is still wanted.
struct Position {
  std::int64_t epoch = 0;   ///< The pass to begin with …
  std::int64_t batch = 0;   ///< … the batch that was being cut when it began …
  std::int64_t pulled = 0;  ///< … and the records of earlier passes that this batch already had.
  std::int64_t next = 0;    ///< The first batch to deliver.
  std::int64_t done = 0;    ///< Millionths of the run (endless: of the pass) that lie before it, for people to see.
  bool operator==(const Position&) const = default;
};

/// The part that this process takes: rows index · B / count up to (index + 1) · B / count of every batch, or every
/// count-th file.
struct Shard {
  std::int64_t index = 0;
  std::int64_t count = 1;
  ShardBy by = ShardBy::row;
  std::string source = {};  ///< What "auto" went by, "torchrun"; empty when it was said.
  std::int64_t rank = 0;    ///< What it found; several ranks may take one shard.
  std::int64_t ranks = 1;
};

}  // namespace forebay::engine
