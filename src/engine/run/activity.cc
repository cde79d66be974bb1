// SPDX-License-Identifier: Apache-2.0
#include "engine/run/activity.h"

#include <algorithm>

#include <fmt/core.h>

namespace forebay::engine {

bool Activity::at_rest() const {
  return std::ranges::all_of(threads_, [](const Thread& thread) { return thread.work == Work::idle; });
}

std::string Activity::text(const std::vector<std::string>& files, Clock::time_point now) const {
  const auto at = [&](const Thread& thread) -> std::string {
    switch (thread.work) {
      case Work::scan:
        return fmt::format("reads '{}'", files[static_cast<std::size_t>(thread.what)]);
      case Work::order:
        return fmt::format("decides the order of batch {}", thread.what);
      case Work::decode:
        return fmt::format("decodes records of batch {}", thread.what);
      case Work::idle:
        break;
    }
    return "rests";
  };
  std::string out;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const double seconds = std::chrono::duration<double>(now - threads_[i].since).count();
    const bool consumer = i + 1 == threads_.size();
    if (consumer && threads_[i].work == Work::idle) break;
    out += fmt::format("{}{} {} for {:.1f} s", out.empty() ? "" : "; ",
                       consumer ? "the consumer" : fmt::format("worker {}", i + 1), at(threads_[i]), seconds);
  }
  return out;
}

}  // namespace forebay::engine
