// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/run/activity.h"

namespace forebay::engine {

/// What each thread did, when: the last spans of a run, for a trace. Owned by the Scheduler and guarded by its mutex.
class Trace {
 public:
  using Clock = Activity::Clock;

  /// Keeps up to `spans`, the last ones; 0: none. Their memory, 40 bytes each, is taken at once.
  Trace(std::int64_t spans, std::size_t threads);

  /// Thread `thread` spent that time on `work`; `what` as in Activity::begin. The thread after the last worker is the
  /// consumer, whose idle time is its wait for batch `what`.
  void add(std::size_t thread, Work work, std::int64_t what, Clock::time_point begin, Clock::time_point end) {
    if (!spans_.empty())
      spans_[static_cast<std::size_t>(added_++ % std::ssize(spans_))] = {begin, end, what, thread, work};
  }
  /// The spans in the JSON format for traces of Chrome, which Perfetto opens; times since the first `next`.
  [[nodiscard]] std::string text(const std::vector<std::string>& files, Clock::time_point since) const;

 private:
  struct Span {
    Clock::time_point begin, end;
    std::int64_t what = 0;
    std::size_t thread = 0;
    Work work = Work::idle;
  };
  std::vector<Span> spans_;  // a ring
  std::int64_t added_ = 0;
  std::size_t threads_;
};

}  // namespace forebay::engine
