// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "engine/memory/recycler.h"
#include "engine/tickets/job.h"

namespace forebay::engine {

/// The batches of a run from their decision to their delivery, in order. Owned by the Scheduler and guarded by its
/// mutex.
///
/// The life of a batch (a Job):
///
///     spare ─► decided, cut ─► add: tickets wait ─► take_ticket ─► finish: done ─► pop: delivered
///       ▲                                                                              │
///       └───────────────────────────────── recycle ◄───────────────────────────────────┘
///
/// Invariants: numbers of batches follow each other without a gap. All batches before `finished()` are done. All
/// tickets of the batches before `open_` have been taken, and none of the batches after it. Only `add` needs memory.
class BatchLine {
 public:
  explicit BatchLine(std::int64_t first) : next_{first}, finished_{first} {}

  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  [[nodiscard]] std::size_t done() const { return done_; }
  [[nodiscard]] std::size_t tickets() const { return tickets_; }     ///< Tickets that have not been taken.
  [[nodiscard]] std::int64_t next() const { return next_; }          ///< The number of the batch that is added next.
  [[nodiscard]] std::int64_t finished() const { return finished_; }  ///< Batches before this one are done.
  [[nodiscard]] Job& front() { return *jobs_.front(); }              ///< Delivered next.
  [[nodiscard]] const Job& front() const { return *jobs_.front(); }
  [[nodiscard]] bool ready() const { return !jobs_.empty() && jobs_.front()->done; }

  /// Appends a batch that was decided and cut. False: there is no memory, and the line is unchanged.
  [[nodiscard]] bool add(std::unique_ptr<Job> job);
  [[nodiscard]] bool next_is_large() const {
    return tickets_ > 0 && jobs_[open_]->large;
  }  ///< Whether the next ticket is of a large batch.
  /// Bytes of the records of the next ticket; 0: there is none.
  [[nodiscard]] std::int64_t next_bytes() const { return tickets_ > 0 ? jobs_[open_]->tickets[taken_]->bytes : 0; }
  /// The next ticket of the oldest batch that has one; null when there is none.
  [[nodiscard]] Ticket* take_ticket();
  void finish(Job& job);                                                ///< Called once, after the last ticket.
  [[nodiscard]] std::unique_ptr<Job> pop();                             ///< Removes the front, which must be done.
  [[nodiscard]] std::unique_ptr<Job> spare() { return spare_.take(); }  ///< A recycled job; null when there is none.
  void recycle(std::unique_ptr<Job> job, std::size_t max);              ///< Stores it, unless `max` jobs are stored.
  void clear();                                                         ///< Drops all jobs.

 private:
  std::deque<std::unique_ptr<Job>> jobs_;
  std::size_t open_ = 0;   // index in jobs_ of the first batch with tickets that were not taken
  std::size_t taken_ = 0;  // tickets of that batch that were taken
  std::size_t tickets_ = 0;
  std::size_t done_ = 0;
  std::int64_t next_;
  std::int64_t finished_;
  Recycler<Job> spare_;
};

}  // namespace forebay::engine
