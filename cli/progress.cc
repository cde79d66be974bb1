// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace forebay::cli {

namespace {

/// A terminal that can go back to the beginning of a line and clear it.
bool can_redraw() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && *kind != '\0' && std::string_view{kind} != "dumb";
}

std::size_t columns() {
  struct winsize size {};
  constexpr std::size_t usual = 80;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

}  // namespace

Progress::Progress(Wanted wanted)
    : on_{wanted == Wanted::yes && can_redraw()}, next_{std::chrono::steady_clock::now()} {}

void Progress::show(const Loader& pipeline) {
  if (!on_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds{100};
  const Stats stats = pipeline.stats();
  const double per_second = stats.seconds > 0 ? 1 / stats.seconds : 0;
  const std::string counters =
      fmt::format("{} rows  {:.0f} rows/s  {:.1f} MB/s  {}", stats.rows, static_cast<double>(stats.rows) * per_second,
                  static_cast<double>(stats.bytes_read) * per_second * 1e-6, stats.queues_text());
  // An endless run has no share that is done.
  if (pipeline.plan().epochs())
    show(pipeline.complete_frac(), counters);
  else
    draw(counters);
}

void Progress::show(double done, const std::string& counters) {
  if (!on_) return;
  done = std::clamp(done, 0.0, 1.0);
  const std::string words = fmt::format("{:3.0f} %  {}", 100 * done, counters);
  constexpr std::size_t widest = 30, narrowest = 5, frame = 4;  // "[", "] " and the column that stays free
  const std::size_t room = columns();
  const std::size_t left = room > words.size() + frame ? room - words.size() - frame : 0;
  if (left < narrowest) return draw(words);
  const std::size_t width = std::min(left, widest);
  const auto filled = static_cast<std::size_t>(done * static_cast<double>(width));
  draw(fmt::format("[{}{}] {}", std::string(filled, '='), std::string(width - filled, ' '), words));
}

void Progress::draw(const std::string& line) {
  fmt::print(stderr, "\r\033[K{}", std::string_view{line}.substr(0, columns() - 1));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace forebay::cli
