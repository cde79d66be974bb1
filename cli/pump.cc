// SPDX-License-Identifier: Apache-2.0
#include "pump.h"

#include <chrono>

#include <fmt/core.h>
#include <forebay/stall_notice.h>

#include "interrupt.h"

namespace forebay::cli {

using Clock = std::chrono::steady_clock;

Result<Pumped> pump(Loader& pipeline, const PumpLimits& limits, Progress& progress,
                    const std::function<void(const Batch&)>& each) {
  constexpr std::chrono::milliseconds timeout{50};  // Ctrl-C is noticed within this time
  Pumped out;
  StallNotice stall;
  const Clock::time_point begin = Clock::now();
  while (out.batches < limits.batches && out.seconds < limits.seconds) {
    bool timed_out = false;
    auto batch = pipeline.next_within(timeout, timed_out);
    out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (interrupted()) {
      progress.clear();
      pipeline.close();
      return Error{Code::cancelled, fmt::format("interrupted after {} batches, {} rows", out.batches, out.rows)};
    }
    if (!batch.ok()) {
      progress.clear();
      return batch.error();
    }
    progress.show(pipeline);
    if (timed_out) {
      if (const auto notice = stall.look(pipeline)) {
        progress.clear();
        fmt::print(stderr, "forebay: {}\n", *notice);
      }
      continue;
    }
    stall.delivered();
    if (!batch->has_value()) {
      out.ended = true;
      break;
    }
    ++out.batches;
    out.rows += (*batch)->rows();
    each(**batch);
  }
  progress.clear();
  return out;
}

}  // namespace forebay::cli
