// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <forebay/rows.h>

namespace forebay {

/// Rows that a program gives to a run while it runs: a bounded queue that is a source.
///
///     producers   put ─► rows that wait, at most `capacity` ─► read ─► the run's orders and batches
///                 close: no more rows; the run ends after those that wait
///                 fail:  the run ends with that error after those that wait
///
/// Any number of threads may call. One run at a time reads a feed; rows that a run has read are gone, so the run cannot
/// begin anew, and its state cannot be saved. Copies share the queue.
class Feed {
 public:
  /// Rows have the columns of `schema`. Fails with Code::config when it has none, when `capacity` is not positive, or
  /// when a column is sparse or has parts.
  [[nodiscard]] static Result<Feed> make(Schema schema, std::int64_t capacity = 1024);

  /// Copies the rows of `rows`, whose columns must have the names, element types and shapes of the schema, in any
  /// order. All of them are taken at once: `put` waits until there is room for them, or, if they are more than
  /// `capacity`, until no row waits. Returns false when the timeout is over; no row was taken then.
  ///
  /// Fails with Code::config for columns that do not fit, and with Code::cancelled when the feed was closed or the run
  /// that read it has ended.
  [[nodiscard]] Result<bool> put(const RowSource& rows, std::chrono::milliseconds timeout);
  /// A handle of a producer, which is open as long as it exists. Once a feed has given a handle, a run that finds no
  /// row, no open handle and no `close` fails instead of waiting for ever.
  [[nodiscard]] std::shared_ptr<const void> producer() const;
  /// No more rows come. Does nothing when the feed is closed.
  void close();
  /// No more rows come, because of an error. Does nothing when the feed is closed.
  void fail(Error error);
  [[nodiscard]] std::int64_t waiting() const;  ///< Rows that were put and not read yet.
  [[nodiscard]] bool closed() const;           ///< No more rows are taken.

  /// The source that a document names (Bindings). It keeps the queue alive.
  [[nodiscard]] std::shared_ptr<const RowSource> source(const std::string& name = "feed") const;

 private:
  class Queue;
  explicit Feed(std::shared_ptr<Queue> queue) : queue_{std::move(queue)} {}
  std::shared_ptr<Queue> queue_;
};

}  // namespace forebay
