// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/rows.h>

namespace forebay {

/// Parts whose rows a program reads, block by block, while a run goes on: row groups of files, batches of a stream.
///
///     run       opens a part ──► wanted ── next ──► the program reads a block ── put, end or fail ──► read by the run
///
/// A part is wanted while fewer than two of its blocks wait, so a program with one thread serves any number of open
/// parts. Blocks are not copied. Any number of threads may call. Copies share the parts.
class RowParts {
 public:
  RowParts();

  struct Part {
    std::string name;  ///< Stands for a file name in origins, keys and errors.
    std::optional<std::int64_t> rows = {};
  };
  /// A source of these parts. `repeats`: each may be read any number of times, and gives the same rows for the same
  /// epoch; otherwise once, by one run.
  [[nodiscard]] std::shared_ptr<const RowSource> source(Schema schema, std::vector<Part> parts, bool repeats) const;

  /// A part that a run reads. Nobody else gets it before `put`, `end` or `fail` was called with its id.
  struct Wanted {
    std::int64_t id = 0;     ///< Of this reading of the part.
    std::size_t source = 0;  ///< Number of its source, in the order of the calls of `source`.
    std::size_t part = 0;
    std::int64_t epoch = 0;
    std::int64_t first = 0;  ///< The row of the part to begin with.
    bool left = false;       ///< The run does not read the part any more. Said once; nothing is wanted.
  };
  /// Waits for a part of which a block is wanted. Returns nothing when the timeout is over. Fails with Code::cancelled
  /// after `close`.
  [[nodiscard]] Result<std::optional<Wanted>> next(std::chrono::milliseconds timeout) const;
  void put(std::int64_t id, std::shared_ptr<const RowBlock> rows) const;  ///< One without rows is left out.
  void end(std::int64_t id) const;                                        ///< The part has no more rows.
  void fail(std::int64_t id, Error error) const;                          ///< The run fails after the rows before it.
  void close() const;  ///< The program reads no more. Runs that read a part fail.

 private:
  class Open;
  class Line;
  std::shared_ptr<Line> line_;
};

}  // namespace forebay
