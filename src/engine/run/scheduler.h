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

#include "engine/blocks/run_share.h"
#include "engine/order/open_parts.h"
#include "engine/order/order_plane.h"
#include "engine/run/activity.h"
#include "engine/run/batch_line.h"
#include "engine/run/consumer_turn.h"
#include "engine/run/row_skips.h"
#include "engine/run/run_parts.h"
#include "engine/run/trace.h"
#include "engine/tickets/executor.h"

namespace forebay::engine {

inline constexpr std::chrono::seconds usual_stuck_after{30};  ///< See Scheduler::Scheduler.

/// Runs one program: owns its workers, its order plane and its line of batches.
///
/// A thread that has time looks for work in this order: a ticket of the oldest batch, the order of the next batch, a
/// block to scan ahead. There is no thread for the order (docs/adr/0003). The thread that holds the baton decides it:
///
///     free ─── may_decide: the line is shorter than depth_ and the budget has room ──► held by one thread
///      ▲                                                                                 │ without the mutex:
///      ├── decided: the batch joins the line with its tickets ◄──────────────────────────┤ OrderPlane::next,
///      ├── the consumer's deadline is over: half_decided_, a worker continues ◄──────────┤ Executor::cut
///      └── no rows yet, or no bytes: half_decided_, continued after `wake` ◄──────────────┘
///
/// A ticket:
///
///     waiting in the line ─► run by a worker or the consumer ─► done: rows are filled, or one is bad
///                                                                │ last ticket of its batch
///                                                                └─► Executor::finish ─► `next` delivers
///
/// The consumer (the thread in `next`) helps instead of waiting. One that comes back at once counts as one of the
/// threads, and a worker rests meanwhile (docs/adr/0012).
///
/// One mutex guards the members that say so; long work runs without it (`Unlocked`). `next` is for one thread at a
/// time; `close` and the counters are for any thread.
class Scheduler {
 public:
  /// Starts the workers; they wait for the first `next`. A run in which all threads are idle for `stuck_after` although
  /// its next batch is not there fails.
  Scheduler(std::shared_ptr<const Program> program, const RunOptions& options, Position start = {},
            std::chrono::milliseconds stuck_after = usual_stuck_after, RunParts parts = {});
  ~Scheduler();

  /// The next batch; null at the end. A failed run repeats its error. `timeout` bounds the wait, not the work; when it
  /// is over, `timed_out` is set and null is returned.
  Result<std::shared_ptr<const Batch::Content>> next(std::optional<std::chrono::milliseconds> timeout, bool& timed_out)
      EXCLUDES(mutex_);
  /// Batches of epochs before this one are not delivered any more. Those that are not decided yet are not decoded
  /// either.
  void skip_to(std::int64_t epoch) EXCLUDES(mutex_);
  /// Leaves out all batches with smaller numbers. Called before the first `next`.
  void leave_out_before(std::int64_t number) { order_.leave_out_before(number); }
  /// Stops the run and joins its workers. Several threads may call at once; each call returns when all is closed.
  void close() EXCLUDES(mutex_);
  [[nodiscard]] Stats stats() const EXCLUDES(mutex_);
  [[nodiscard]] std::string take_notice() EXCLUDES(mutex_);  ///< A line for people, once; empty: there is none.
  [[nodiscard]] std::string trace() const EXCLUDES(mutex_);
  [[nodiscard]] double complete_frac() const EXCLUDES(mutex_);
  [[nodiscard]] RunShare::Counts read() const;  ///< What was read of data so far.
  /// Of the files opened so far.
  [[nodiscard]] std::vector<std::int64_t> sizes() const { return open_files_.sizes(); }

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
  void work(std::size_t number) EXCLUDES(mutex_);  // the main function of a worker
  void take_turns(Worker& worker) EXCLUDES(mutex_);
  [[nodiscard]] bool begin_close() EXCLUDES(mutex_);  // false: another call closes
  // Does one piece of work. False: there is none. A decision that takes longer than the deadline stays half made.
  bool work_once(Worker& worker, std::optional<Clock::time_point> deadline) REQUIRES(mutex_);
  bool run_next_ticket(Worker& worker) REQUIRES(mutex_);  // false: there is none
  /// A ticket copies and decodes its records in memory of its own, about four times their size: large ones wait while
  /// others would fill the budget.
  [[nodiscard]] bool leaves_room() const REQUIRES(mutex_) {
    return running_bytes_ == 0 || running_bytes_ + line_.next_bytes() <= pool_->limit() / 4;
  }
  void run_ticket(Ticket& ticket, Worker& worker) REQUIRES(mutex_);
  void finish(Job& job) const;
  [[nodiscard]] std::optional<RowError> run_rows(Ticket& ticket, Worker& worker) REQUIRES(mutex_);
  void note_empty_batch(const BatchLayout& layout) REQUIRES(mutex_);
  void note_empty_run() REQUIRES(mutex_);
  [[nodiscard]] bool front_ready() REQUIRES(mutex_);  // drops ready batches that are not wanted any more
  void decide_order(Worker& worker, std::optional<Clock::time_point> deadline) REQUIRES(mutex_);
  void decide_batch(Worker& worker, std::optional<Clock::time_point> deadline) REQUIRES(mutex_);
  [[nodiscard]] bool may_decide() const REQUIRES(mutex_);
  [[nodiscard]] bool has_room() const REQUIRES(mutex_);
  [[nodiscard]] bool order_is_crowded_out() const REQUIRES(mutex_);
  void make_room(Worker& worker) REQUIRES(mutex_);
  struct Wanted {  // what a decision needs of the members that the mutex guards
    std::int64_t finished = 0;
    std::int64_t from_epoch = 0;
  };
  [[nodiscard]] Result<bool> decide(std::unique_ptr<Job>& job, const Wanted& wanted,
                                    std::optional<Clock::time_point> deadline);
  [[nodiscard]] bool may_look_again() const REQUIRES(mutex_);
  void look_again(Worker& worker, std::optional<Clock::time_point> deadline) REQUIRES(mutex_);
  void scan_ahead(const std::shared_ptr<ReaderState>& file, Worker& worker) REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<const Batch::Content> deliver() REQUIRES(mutex_);
  void wake_workers(std::size_t tasks) REQUIRES(mutex_);
  void announce() REQUIRES(mutex_);
  void wake() EXCLUDES(mutex_);  // for any thread: a source that had no rows has some, or bytes have come
  bool scan_next(Worker& worker, bool soon) REQUIRES(mutex_);  // false: there is none
  void add_branches(Stats& out) const;
  [[nodiscard]] std::vector<Fullness> queues() const EXCLUDES(mutex_);
  void take_gauges() EXCLUDES(mutex_);  // called by the holder of the baton
  /// The buffer of an order when the last batch was decided.
  struct Buffer {
    Gauge gauge;
    std::optional<std::size_t> branch;  ///< Its branch, in a combination.
  };
  [[nodiscard]] static Fullness fullness_of(const Buffer& buffer);
  void spend(Work work, std::chrono::nanoseconds time);
  [[nodiscard]] bool one_too_many() const REQUIRES(mutex_);    // one worker must rest: the consumer counts as one
  void rest() REQUIRES(mutex_);                                // until the consumer stops counting as a worker
  bool help() REQUIRES(mutex_);                                // the consumer works instead of waiting
  [[nodiscard]] bool stuck() const REQUIRES(mutex_);           // all threads have been idle for too long
  [[nodiscard]] std::string waiting() const REQUIRES(mutex_);  // what each thread does while a batch is awaited

  const std::shared_ptr<const Program> program_;
  const RunParts parts_;
  const std::shared_ptr<BufferPool> pool_;
  const std::shared_ptr<PinnedMemory> pinned_;  // null: ordinary memory
  const std::int64_t threads_;
  const std::int64_t asked_prefetch_;
  const std::chrono::milliseconds stuck_after_;
  std::int64_t started_ = 0;  // workers; fewer than `threads_` where the system gives no more
  const std::unique_ptr<OpenParts> open_parts_;
  OpenParts& open_files_ = *open_parts_;
  OrderPlane order_;  // used by the holder of the baton only
  Executor executor_;
  Worker consumer_;  // used by the consumer only
  Spent spent_;

  mutable Mutex mutex_;
  Condition work_there_;  // workers wait for work
  Condition batch_done_;  // the consumer waits for its batch
  BatchLine line_ GUARDED_BY(mutex_);
  std::unique_ptr<Job> half_decided_ GUARDED_BY(mutex_);
  bool starved_ GUARDED_BY(mutex_) = false;     // the order waits for rows or bytes of its source; `wake` ends that
  std::uint64_t wakes_ GUARDED_BY(mutex_) = 0;  // calls of `wake`
  std::size_t depth_ GUARDED_BY(mutex_);        // batches in the making or ready, at most
  std::int64_t batch_bytes_ GUARDED_BY(mutex_) = 0;    // bytes that making a batch takes: the largest so far
  std::int64_t running_bytes_ GUARDED_BY(mutex_) = 0;  // of the records of the tickets that run
  std::size_t sleeping_ GUARDED_BY(mutex_) = 0;
  bool baton_taken_ GUARDED_BY(mutex_) = false;
  bool order_ended_ GUARDED_BY(mutex_) = false;  // without an error: no more batches will be decided
  bool order_over_ GUARDED_BY(mutex_) = false;   // and it is known how the run ends, if no batch fails
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;  // workers are joined, batches dropped
  Condition closing_over_;                  // a second close waits for the first
  Condition caller_left_;                   // `close` waits for the consumer
  Condition rest_over_;                     // the resting worker waits for the consumer to stop helping
  ConsumerTurn caller_ GUARDED_BY(mutex_);
  std::int64_t resting_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> order_error_ GUARDED_BY(mutex_);  // delivered after the batches of the line
  std::optional<Error> broken_ GUARDED_BY(mutex_);       // was delivered; every later call repeats it
  std::int64_t next_number_ GUARDED_BY(mutex_);          // of the next batch, for messages
  std::int64_t from_epoch_ GUARDED_BY(mutex_);           // batches of earlier epochs are dropped
  std::vector<Buffer> buffers_ GUARDED_BY(mutex_);
  std::string notice_ GUARDED_BY(mutex_);  // for `take_notice`
  bool empty_run_noted_ GUARDED_BY(mutex_) = false;
  const std::int64_t row_shards_;
  bool empty_batch_noted_ GUARDED_BY(mutex_) = false;
  Stats stats_ GUARDED_BY(mutex_);
  RowSkips row_skips_ GUARDED_BY(mutex_);
  double complete_frac_ GUARDED_BY(mutex_);
  double ready_fill_sum_ GUARDED_BY(mutex_) = 0;
  std::int64_t asked_ GUARDED_BY(mutex_) = 0;
  std::optional<Clock::time_point> began_ GUARDED_BY(mutex_);
  std::optional<Clock::time_point> waiting_since_ GUARDED_BY(mutex_);  // since the consumer waits for the next batch
  Activity activity_ GUARDED_BY(mutex_);
  Trace trace_ GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;  // last member: joined before the members that they use are destroyed
};

}  // namespace forebay::engine
