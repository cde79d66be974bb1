// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include <forebay/loader.h>

namespace forebay::cli {

/// A line on standard error that says how far a run is. Shown only where that is a terminal that can clear a line, and
/// never wider than it.
class Progress {
 public:
  enum class Wanted : bool { no, yes };
  explicit Progress(Wanted wanted);
  void show(const Loader& pipeline);                    ///< Ten times a second at most; cheap otherwise.
  void show(double done, const std::string& counters);  ///< Each time; `done` is 0 … 1.
  void clear();

 private:
  void draw(const std::string& line);  // as much of it as the terminal is wide

  const bool on_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace forebay::cli
