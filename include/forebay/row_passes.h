// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <forebay/feed.h>

namespace forebay {

/// Rows that a program gives anew for each pass of a run: a data set with epochs of its own, as a source.
///
///     run       begins pass e ──► next(timeout): {e, rows} ──► rows.put …, then rows.close or rows.fail    program
///               leaves pass e ──► rows are closed: `put` fails with Code::cancelled; `next` gives the next pass
///
/// The program gives the same rows for the same epoch (see Promise): a restart asks for an epoch again, and goes past
/// the rows that were delivered, or asks for those after them. The rows of a pass come one after the other, so a run
/// cannot reach them in any order.
///
/// Any number of threads may call. One run at a time reads it, one pass at a time. Copies share the passes.
class RowPasses {
 public:
  /// A pass that a run has begun.
  struct Pass {
    std::int64_t epoch;  ///< From 0.
    std::int64_t first;  ///< The row to begin with: 0, but for a source that `seeks`.
    Feed rows;           ///< Takes the rows of this pass.
  };

  /// The arguments are those of Feed::make, and it fails like that.
  [[nodiscard]] static Result<RowPasses> make(Schema schema, std::int64_t capacity = 1024);

  /// The pass that a run has begun last, once; empty when there is none until the timeout. Fails with Code::cancelled
  /// after `close`.
  [[nodiscard]] Result<std::optional<Pass>> next(std::chrono::milliseconds timeout) const;
  /// Ends the wait of `next`. Does nothing when it was closed.
  void close() const;

  /// What the program promises.
  struct Promise {
    bool seeks = false;     ///< It can begin an epoch with any row.
    bool exact = true;      ///< It gives the same rows for the same epoch; otherwise a run has no state.
    bool collects = false;  ///< All rows of an epoch may be held in memory (RowSource::collects).
  };
  /// The source that a document names (Bindings), of the kind of a feed. It keeps the passes alive.
  [[nodiscard]] std::shared_ptr<const RowSource> source(const std::string& name, Promise promise) const;
  [[nodiscard]] std::shared_ptr<const RowSource> source(const std::string& name = "passes") const {
    return source(name, {.seeks = false, .exact = true});
  }

 private:
  class Begun;
  explicit RowPasses(std::shared_ptr<Begun> begun) : begun_{std::move(begun)} {}
  std::shared_ptr<Begun> begun_;
};

}  // namespace forebay
