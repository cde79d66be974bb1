// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/tickets/job.h"

namespace forebay::engine {

/// The batches of a run from their decision to their delivery, in order. Not for several threads at once.
///
/// What always holds: numbers follow each other without a gap. Batches before `finished()` are done. Tickets are taken
/// batch by batch: all of those before `open_`, none of those behind it. There is room in `spare_` for every job that
/// there is, so only `add` needs memory.
class BatchLine {
 public:
  explicit BatchLine(std::int64_t first) : next_{first}, finished_{first} {}

  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  [[nodiscard]] std::size_t done() const { return done_; }
  [[nodiscard]] std::size_t tickets() const { return tickets_; }     ///< Not taken yet.
  [[nodiscard]] std::int64_t next() const { return next_; }          ///< The number of the batch that is added next.
  [[nodiscard]] std::int64_t finished() const { return finished_; }  ///< Batches before this one are done.
  [[nodiscard]] Job& front() { return *jobs_.front(); }              ///< Delivered next.
  [[nodiscard]] const Job& front() const { return *jobs_.front(); }
  [[nodiscard]] bool ready() const { return !jobs_.empty() && jobs_.front()->done; }

  /// A batch that was decided and cut. False: there is no memory, and the line is as before.
  [[nodiscard]] bool add(std::unique_ptr<Job> job);
  [[nodiscard]] bool next_is_large() const { return tickets_ > 0 && jobs_[open_]->large; }  ///< Ticket's batch.
  /// The next ticket of the oldest batch that has one; null when there is none.
  [[nodiscard]] Ticket* take_ticket();
  void finish(Job& job);                                     ///< Its last ticket is done.
  [[nodiscard]] std::unique_ptr<Job> pop();                  ///< The front, which is done.
  [[nodiscard]] std::unique_ptr<Job> spare();                ///< One that was recycled; null when there is none.
  void recycle(std::unique_ptr<Job> job, std::size_t most);  ///< Keeps at most so many.
  void clear();                                              ///< Forgets all jobs.

 private:
  std::deque<std::unique_ptr<Job>> jobs_;
  std::size_t open_ = 0;   // of jobs_: the first with tickets that were not taken …
  std::size_t taken_ = 0;  // … and how many of its were
  std::size_t tickets_ = 0;
  std::size_t done_ = 0;
  std::int64_t next_;
  std::int64_t finished_;
  std::vector<std::unique_ptr<Job>> spare_;
};

}  // namespace forebay::engine
