// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/run_options.h>

namespace forebay::engine {

/// Where a run stands: all that a restart needs (docs/adr/0005). An order begins a pass from (seed, epoch) alone, so a
/// restart goes through the pass again, without decoding, up to the first batch to deliver.
struct Position {
  std::int64_t epoch = 0;   ///< The pass to begin with.
  std::int64_t batch = 0;   ///< The batch that was being cut when this pass began.
  std::int64_t pulled = 0;  ///< Records of earlier passes that this batch already had.
  std::int64_t next = 0;    ///< The first batch to deliver.
  std::int64_t done = 0;    ///< Progress in millionths of the run (endless: of the pass), for display only.
  bool operator==(const Position&) const = default;
};

using forebay::Shard;

}  // namespace forebay::engine
