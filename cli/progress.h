// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include <forebay/loader.h>

namespace forebay::cli {

/// A line on standard error with the progress of a run. Shown only if standard error is a terminal that can clear a
/// line; never wider than the terminal.
class Progress {
 public:
  enum class Wanted : bool { no, yes };
  explicit Progress(Wanted wanted);
  void show(const Loader& pipeline);                    ///< Ten times a second at most; cheap otherwise.
  void show(double done, const std::string& counters);  ///< Each time; `done` is 0 … 1.
  void clear();

 private:
  void draw(const std::string& line);  // cut to the width of the terminal

  const bool on_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace forebay::cli
