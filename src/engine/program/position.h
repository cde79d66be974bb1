// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/run_options.h>

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

using forebay::Shard;

}  // namespace forebay::engine
