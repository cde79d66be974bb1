// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/program/program.h"
#include "io/file.h"
#include "io/inflate.h"

namespace forebay::engine {

/// Counts the lines of a text file up to the byte that an error names, so that the error can say its line.
///
/// It reads the file anew, from its beginning, because no run counts lines before there is an error. One thread at a
/// time calls. Throws std::bad_alloc.
class LineCount {
 public:
  using Clock = std::chrono::steady_clock;
  /// Nothing, when the error names no byte of a text file of the program, or has a line already. The bytes of a
  /// FileSystem are not asked for a second time, so errors in its files have no line.
  [[nodiscard]] static std::optional<LineCount> begin(const Program& program, const Error& error);

  /// Reads on, at least one piece. Returns false when the deadline passed before the byte was reached; the next call
  /// goes on.
  [[nodiscard]] bool run(Clock::time_point deadline);
  /// The error with the line. After `run` returned true; the error as it was where the file cannot be read that far.
  [[nodiscard]] Error placed(const Error& error) const;

 private:
  [[nodiscard]] static std::optional<LineCount> begin(const Source& source, const Error& error);
  LineCount(io::File file, std::int64_t offset) : file_{std::move(file)}, offset_{offset} {}

  io::File file_;
  std::optional<io::Inflater> inflater_;  // of a compressed file
  std::int64_t offset_;
  std::int64_t read_ = 0;  // bytes of content
  std::int64_t feeds_ = 0;
};

}  // namespace forebay::engine
