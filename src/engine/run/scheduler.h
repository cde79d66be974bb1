// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <forebay/loader.h>

#include "engine/order/open_files.h"
#include "engine/order/order_plane.h"
#include "engine/run/activity.h"
#include "engine/run/batch_line.h"
#include "engine/run/consumer_turn.h"
#include "engine/tickets/executor.h"

namespace forebay::engine {

/// Runs one plan. Work is found by whoever has time: a ticket of the oldest batch, else the next batch's order, else a
/// block to scan ahead. There is no thread for order: whoever holds the baton decides it (docs/adr/0003). The caller of
/// `next` helps instead of waiting, and one that is back at once counts as one of the threads: a worker rests
/// meanwhile.
class Scheduler {
 public:
  /// `stuck_after`: a run in which nobody has anything to do for so long, but whose next batch is not there, fails.
  Scheduler(std::shared_ptr<const Program> program, const RunOptions& options, Position start = {},
            std::chrono::milliseconds stuck_after = std::chrono::seconds{30});
  ~Scheduler();

  /// The next finished batch; empty at the end. `timeout` bounds the wait, not the work; when it is over, `timed_out`.
  Result<std::shared_ptr<const Batch::Content>> next(std::optional<std::chrono::milliseconds> timeout, bool& timed_out)
      EXCLUDES(mutex_);
  /// Stops and joins. Any thread may call, and any number of them at once: each returns when all is closed.
  void close() EXCLUDES(mutex_);
  [[nodiscard]] Stats stats() const EXCLUDES(mutex_);
  [[nodiscard]] double complete_frac() const EXCLUDES(mutex_);
  [[nodiscard]] Position position() const EXCLUDES(mutex_);         ///< Behind the batch that was delivered last.
  [[nodiscard]] Position position_before() const EXCLUDES(mutex_);  ///< Before it.

 private:
  using Clock = std::chrono::steady_clock;
  friend struct SchedulerPeer;  // of a test
  class Unlocked;
  Result<std::shared_ptr<const Batch::Content>> next_locked(Clock::time_point since,
                                                            std::optional<Clock::time_point> deadline, bool& timed_out)
      REQUIRES(mutex_);
  struct Spent {  // nanoseconds, by Work
    std::array<std::atomic<std::int64_t>, 4> ns{};
  };
  void work(std::size_t number) EXCLUDES(mutex_);  // a worker's life
  void take_turns(Worker& worker) EXCLUDES(mutex_);
  [[nodiscard]] bool begin_close() EXCLUDES(mutex_);  // false: another call has closed
  // False: there was nothing to do. A decision about order that takes longer than the deadline is left half made.
  bool work_once(Worker& worker, std::optional<Clock::time_point> deadline) REQUIRES(mutex_);
  bool run_next_ticket(Worker& worker) REQUIRES(mutex_);  // false: there is none
  void run_ticket(Ticket& ticket, Worker& worker) REQUIRES(mutex_);
  void finish(Job& job) const;
  void decide_order(Worker& worker, std::optional<Clock::time_point> deadline) REQUIRES(mutex_);
  void decide_batch(Worker& worker, std::optional<Clock::time_point> deadline) REQUIRES(mutex_);
  [[nodiscard]] bool may_decide() const REQUIRES(mutex_);
  [[nodiscard]] bool has_room() const REQUIRES(mutex_);
  [[nodiscard]] bool order_is_crowded_out() const REQUIRES(mutex_);
  void make_room(Worker& worker) REQUIRES(mutex_);
  [[nodiscard]] Result<bool> decide(std::unique_ptr<Job>& job, std::int64_t finished,
                                    std::optional<Clock::time_point> deadline);
  void scan_ahead(const std::shared_ptr<OpenFiles::ReaderState>& file, Worker& worker) REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<const Batch::Content> deliver() REQUIRES(mutex_);
  void wake_workers(std::size_t tasks) REQUIRES(mutex_);
  void spend(Work work, std::chrono::nanoseconds time);
  [[nodiscard]] bool one_too_many() const REQUIRES(mutex_);    // workers, since the caller of next stands in for one
  void rest() REQUIRES(mutex_);                                // while it does
  bool help() REQUIRES(mutex_);                                // what the caller of next does instead of waiting
  [[nodiscard]] bool stuck() const REQUIRES(mutex_);           // nobody has been at anything for too long
  [[nodiscard]] std::string waiting() const REQUIRES(mutex_);  // who is at what, while a batch is waited for

  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<BufferPool> pool_;
  const std::int64_t threads_;
  const std::int64_t asked_prefetch_;
  const std::chrono::milliseconds stuck_after_;
  std::int64_t started_ = 0;  // workers; fewer than `threads_` where the system gives no more
  OpenFiles open_files_;
  OrderPlane order_;  // of whoever holds the baton
  Executor executor_;
  Worker consumer_;  // of the caller of next
  Spent spent_;

  mutable Mutex mutex_;
  Condition work_there_;  // workers wait for work
  Condition batch_done_;  // the caller of next waits for its batch
  BatchLine line_ GUARDED_BY(mutex_);
  std::unique_ptr<Job> half_decided_ GUARDED_BY(mutex_);
  std::size_t depth_ GUARDED_BY(mutex_);             // batches in the making or ready, at most
  std::int64_t batch_bytes_ GUARDED_BY(mutex_) = 0;  // that making one takes, the most so far
  std::size_t sleeping_ GUARDED_BY(mutex_) = 0;
  bool baton_taken_ GUARDED_BY(mutex_) = false;
  bool order_over_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;  // all is over: workers are joined, batches forgotten
  Condition closing_over_;                  // a second close waits for the first
  Condition caller_left_;                   // close waits for the caller of next
  Condition rest_over_;                     // the worker that it stands in for waits for it to stand down
  ConsumerTurn caller_ GUARDED_BY(mutex_);
  std::int64_t resting_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> order_error_ GUARDED_BY(mutex_);  // comes behind the jobs
  std::optional<Error> broken_ GUARDED_BY(mutex_);       // delivered: repeated for ever
  Position position_ GUARDED_BY(mutex_);                 // behind what was delivered
  Position before_ GUARDED_BY(mutex_);                   // before the last batch of it
  Stats stats_ GUARDED_BY(mutex_);
  double complete_frac_ GUARDED_BY(mutex_);
  double ready_fill_sum_ GUARDED_BY(mutex_) = 0;
  std::int64_t asked_ GUARDED_BY(mutex_) = 0;
  std::optional<Clock::time_point> began_ GUARDED_BY(mutex_);
  std::optional<Clock::time_point> waiting_since_ GUARDED_BY(mutex_);  // for the next batch
  Activity activity_ GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;  // last: gone before what they use; of whoever closes
};

}  // namespace forebay::engine
