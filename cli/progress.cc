// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/core.h>

namespace forebay::cli {

Progress::Progress(Wanted wanted)
    : on_{wanted == Wanted::yes && ::isatty(STDERR_FILENO) == 1}, next_{std::chrono::steady_clock::now()} {}

void Progress::show(const Pipeline& pipeline) {
  if (!on_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds{100};
  const Stats stats = pipeline.stats();
  const double per_second = stats.seconds > 0 ? 1 / stats.seconds : 0;
  show(pipeline.complete_frac(),
       fmt::format("{} rows  {:.0f} rows/s  {:.1f} MB/s", stats.rows, static_cast<double>(stats.rows) * per_second,
                   static_cast<double>(stats.bytes_read) * per_second * 1e-6));
}

void Progress::show(double done, const std::string& counters) {
  if (!on_) return;
  constexpr std::size_t width = 30;
  done = std::clamp(done, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(done * static_cast<double>(width));
  fmt::print(stderr, "\r\033[K[{}{}] {:3.0f} %  {}", std::string(filled, '='), std::string(width - filled, ' '),
             100 * done, counters);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace forebay::cli
