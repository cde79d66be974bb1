// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include <forebay/loader.h>

#include "progress.h"

namespace forebay::cli {

struct PumpLimits {
  std::int64_t batches = std::numeric_limits<std::int64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
};

struct Pumped {
  std::int64_t batches = 0;
  std::int64_t rows = 0;
  double seconds = 0;
  bool ended = false;  ///< The run ended before a limit was reached.
};

/// Takes batches until the end or a limit. After Ctrl-C it closes the pipeline and fails with Code::cancelled.
[[nodiscard]] Result<Pumped> pump(Loader& pipeline, const PumpLimits& limits, Progress& progress,
                                  const std::function<void(const Batch&)>& each);

}  // namespace forebay::cli
