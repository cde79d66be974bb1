// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "engine/guarded.h"

namespace forebay::engine {

namespace {

// What a run that names no depth keeps ready: as many batches as stay in the second-level cache, within reason.
constexpr std::int64_t ready_bytes = std::int64_t{2} << 20;
constexpr std::int64_t most_depth = 16;
// However large they are: with fewer, several threads would wait for the slowest of them.
constexpr std::int64_t least_depth(std::int64_t threads) {
  return threads == 1 ? 2 : std::min(2 * threads + 2, most_depth);
}
// The caller of next must come back in time to notice an interrupt.
constexpr std::chrono::milliseconds longest_help{20};
// How long a caller of next that stood in for a worker may be away unnoticed: each look wakes a thread.
constexpr std::chrono::milliseconds longest_rest{5};

/// Empty: for ever, or for longer than the clock goes.
std::optional<Stages::Clock::time_point> deadline_of(Stages::Clock::time_point since,
                                                     std::optional<std::chrono::milliseconds> patience) {
  using std::chrono::milliseconds;
  const auto most = std::chrono::duration_cast<milliseconds>(Stages::Clock::time_point::max() - since);
  if (!patience || *patience >= most) return std::nullopt;
  return since + std::max(*patience, milliseconds{0});
}

}  // namespace

/// Gives the mutex up for the length of a task, and accounts for it.
class Scheduler::Doing {
 public:
  Doing(Scheduler& scheduler, const Worker& worker, Work work, std::int64_t what)
      FOREBAY_ANNOTATE(no_thread_safety_analysis)
      : scheduler_{scheduler}, thread_{worker.number}, work_{work}, since_{Clock::now()} {
    scheduler_.stages_.begin(thread_, work_, what, since_);
    scheduler_.mutex_.unlock();
  }
  ~Doing() FOREBAY_ANNOTATE(no_thread_safety_analysis) {
    const auto now = Clock::now();
    scheduler_.spend(work_, now - since_);
    scheduler_.mutex_.lock();
    scheduler_.stages_.rest(thread_, now);
  }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  Scheduler& scheduler_;
  const std::size_t thread_;
  const Work work_;
  const Clock::time_point since_;
};

Scheduler::Scheduler(std::shared_ptr<const Program> program, const RunOptions& options, Position start,
                     std::chrono::milliseconds stuck_after)
    : program_{std::move(program)},
      pool_{std::make_shared<Pool>(options.memory)},
      threads_{options.threads},
      asked_prefetch_{options.prefetch},
      stuck_after_{stuck_after},
      streams_{*program_, pool_, options.threads},
      order_{*program_, streams_, start, {.index = options.shard_index, .count = options.shard_count}},
      executor_{program_, pool_, options.threads},
      consumer_{executor_.worker(static_cast<std::size_t>(options.threads))},
      line_{start.next},
      depth_{static_cast<std::size_t>(options.prefetch > 0 ? options.prefetch : least_depth(1))},
      position_{start},
      before_{start},
      complete_frac_{static_cast<double>(start.done) / 1e6},
      stages_{static_cast<std::size_t>(options.threads) + 1} {
  workers_.reserve(static_cast<std::size_t>(threads_));
  for (; started_ < threads_; ++started_) {
    try {
      workers_.emplace_back([this, number = static_cast<std::size_t>(started_)] { work(number); });
    } catch (const std::exception&) {
      break;  // the caller of next does the work that no thread could be started for
    }
  }
}

Scheduler::~Scheduler() { close(); }

void Scheduler::close() {
  if (!begin_close()) return;
  streams_.stop();
  executor_.stop();
  for (std::thread& worker : workers_) worker.join();
  const Lock lock{mutex_};
  while (caller_.inside()) caller_left_.wait(mutex_);  // it may be helping with a ticket
  if (!line_.empty()) order_over_ = false;             // the end that it had decided does not come any more
  line_.clear();
  half_decided_.reset();
  closed_ = true;
  closing_over_.notify_all();
}

bool Scheduler::begin_close() {
  const Lock lock{mutex_};
  if (std::exchange(stopped_, true)) {
    while (!closed_) closing_over_.wait(mutex_);
    return false;
  }
  rest_over_.notify_all();
  work_there_.notify_all();
  batch_done_.notify_all();
  return true;
}

void Scheduler::spend(Work work, std::chrono::nanoseconds time) {
  const std::int64_t ns = time.count();
  spent_.ns[static_cast<std::size_t>(work)].fetch_add(ns, std::memory_order_relaxed);
}

void Scheduler::work(std::size_t number) {
  const auto thrown = guarded(
      [&] {
        Worker worker = executor_.worker(number);
        take_turns(worker);
      },
      no_memory_for_run);
  if (!thrown) return;
  const Lock lock{mutex_};
  if (!broken_) broken_ = thrown;
  batch_done_.notify_all();
}

void Scheduler::take_turns(Worker& worker) {
  const Lock lock{mutex_};
  while (!began_ && !stopped_) work_there_.wait(mutex_);
  while (!stopped_) {
    if (one_too_many()) {
      rest();
      continue;
    }
    if (work_once(worker, std::nullopt)) continue;
    const auto since = Clock::now();
    ++sleeping_;
    work_there_.wait(mutex_);
    --sleeping_;
    spend(Work::idle, Clock::now() - since);
  }
}

bool Scheduler::one_too_many() const { return caller_.stands_in() && started_ - resting_ >= threads_; }

void Scheduler::rest() {
  ++resting_;
  while (!stopped_ && caller_.stands_in()) {
    rest_over_.wait_until(mutex_, Clock::now() + longest_rest);
    caller_.look(Clock::now());
  }
  --resting_;
}

bool Scheduler::work_once(Worker& worker, std::optional<Clock::time_point> deadline) {
  // With others to run them, new tickets come first while few are left: who sleeps for want of one is woken dearly.
  const bool running_low = threads_ > 1 && line_.size() <= depth_ / 2;
  if (!(running_low && may_decide()) && run_next_ticket(worker)) return true;
  if (may_decide()) {
    decide_order(worker, deadline);
    return true;
  }
  if (order_is_crowded_out()) {
    make_room(worker);
    return true;
  }
  if (const auto file = streams_.claim()) {
    scan_ahead(file, worker);
    return true;
  }
  return false;
}

bool Scheduler::run_next_ticket(Worker& worker) {
  Ticket* const ticket = line_.take_ticket();
  if (ticket == nullptr) return false;
  run_ticket(*ticket, worker);
  return true;
}

bool Scheduler::may_decide() const {
  if (baton_taken_ || order_over_ || line_.size() >= depth_) return false;
  return line_.empty() || !pool_->over(batch_bytes_);
}

/// Whether content that is kept for later passes takes the room of a batch.
bool Scheduler::order_is_crowded_out() const {
  if (baton_taken_ || order_over_ || line_.size() >= depth_ || line_.empty()) return false;
  return pool_->over(batch_bytes_) && streams_.keeps_content();
}

void Scheduler::make_room(Worker& worker) {
  const Doing doing{*this, worker, Work::order, line_.next()};
  streams_.drop_kept_content();
}

void Scheduler::decide_order(Worker& worker, std::optional<Clock::time_point> deadline) {
  do {
    decide_batch(worker, deadline);
  } while (threads_ > 1 && !stopped_ && !half_decided_ && may_decide());
}

void Scheduler::decide_batch(Worker& worker, std::optional<Clock::time_point> deadline) {
  baton_taken_ = true;
  std::unique_ptr<Job> job = half_decided_ ? std::move(half_decided_) : line_.spare();
  const std::int64_t finished = line_.finished();
  Result<bool> more = false;
  std::optional<Error> thrown;
  {
    const Doing doing{*this, worker, Work::order, line_.next()};
    thrown = guarded([&] { more = decide(job, finished, deadline); }, no_memory_for_order);
  }
  baton_taken_ = false;
  if (!thrown && !more.ok() && streams_.interrupted(more.error())) {
    half_decided_ = std::move(job);
    wake_workers(1);
    return;
  }
  if (!thrown && more.ok() && *more) {
    const std::size_t tasks = job->cut;
    if (line_.add(std::move(job))) return wake_workers(tasks);
    thrown = no_memory_for_order;
  }
  if (thrown) {
    order_error_ = thrown;
  } else if (!more.ok()) {
    order_error_ = more.error();
  }
  order_over_ = true;
  batch_done_.notify_all();
}

/// Of whoever holds the baton, without the mutex. False at the end.
Result<bool> Scheduler::decide(std::unique_ptr<Job>& job, std::int64_t finished,
                               std::optional<Clock::time_point> deadline) {
  if (!job) job = std::make_unique<Job>();
  streams_.collect(finished);
  streams_.set_deadline(deadline);
  auto more = order_.next(job->layout);
  if (more.ok() && *more) {
    if (auto cut = executor_.cut(*job); !cut.ok()) more = cut.error();
  }
  streams_.limit_memory();
  return more;
}

void Scheduler::run_ticket(Ticket& ticket, Worker& worker) {
  Job& job = *ticket.job;
  const bool last = job.remaining == 1;  // nobody else is at this batch
  std::optional<RowError> failed;
  {
    const Doing doing{*this, worker, Work::decode, job.number};
    if (auto thrown = guarded([&] { failed = executor_.run(ticket, worker); }))
      failed = RowError{*thrown, ticket.first_row};
    if (last && !failed && !job.error) finish(job);
  }
  if (failed && (!job.error || failed->row < job.error_row)) {
    job.error = failed->error;
    job.error_row = failed->row;
  }
  if (--job.remaining > 0) return;
  if (!last && !job.error) {
    const Doing doing{*this, worker, Work::decode, job.number};
    finish(job);
  }
  line_.finish(job);
  if (caller_.waits() && line_.ready()) batch_done_.notify_one();
}

/// Of a batch whose tickets are done; nobody else is at it.
void Scheduler::finish(Job& job) const {
  if (auto thrown = guarded([&] { job.error = executor_.finish(job); })) job.error = std::move(thrown);
}

void Scheduler::scan_ahead(const std::shared_ptr<Streams::Open>& file, Worker& worker) {
  const Doing doing{*this, worker, Work::scan, Streams::number_of(*file)};
  streams_.scan(file);
}

void Scheduler::wake_workers(std::size_t tasks) {
  for (std::size_t i = 0; i < std::min(tasks, sleeping_); ++i) work_there_.notify_one();
}

Result<std::shared_ptr<const Batch::Content>> Scheduler::next(std::optional<std::chrono::milliseconds> patience,
                                                              bool& timed_out) {
  timed_out = false;
  const auto since = Clock::now();
  const Lock lock{mutex_};
  caller_.enter(since);
  Result<std::shared_ptr<const Batch::Content>> out = std::shared_ptr<const Batch::Content>{};
  try {
    out = next_locked(since, deadline_of(since, patience), timed_out);
  } catch (const std::bad_alloc&) {
    if (!broken_) broken_ = no_memory_for_run;
    out = *broken_;
  }
  const auto now = Clock::now();
  caller_.leave(now);
  stats_.consumer_wait_seconds += std::chrono::duration<double>(now - since).count();
  if (!timed_out) waiting_since_.reset();
  if (stopped_) caller_left_.notify_all();
  return out;
}

Result<std::shared_ptr<const Batch::Content>> Scheduler::next_locked(Clock::time_point since,
                                                                     std::optional<Clock::time_point> deadline,
                                                                     bool& timed_out) {
  if (!began_) {
    began_ = since;
    work_there_.notify_all();
  }
  ++asked_;
  ready_fill_sum_ += static_cast<double>(line_.done()) / static_cast<double>(depth_);
  while (true) {
    if (broken_) return *broken_;
    if (stopped_) return Error{Code::cancelled, "the pipeline was closed"};
    if (line_.ready()) break;
    if (line_.empty() && order_over_) {
      if (!order_error_) return std::shared_ptr<const Batch::Content>{};
      broken_ = order_error_;
      continue;
    }
    if (!waiting_since_) waiting_since_ = since;
    if (deadline && Clock::now() >= *deadline) {
      timed_out = true;
      return std::shared_ptr<const Batch::Content>{};
    }
    if (help()) {
      caller_.helped();
      continue;
    }
    if (stuck()) {
      broken_ = Error{Code::internal, Detail::failed_precondition,
                      fmt::format("the stages of this run wait for each other: {}", waiting())};
      continue;
    }
    caller_.wait(true);
    const auto look_again = Clock::now() + stuck_after_;
    batch_done_.wait_until(mutex_, deadline ? std::min(look_again, *deadline) : look_again);
    caller_.wait(false);
  }
  if (line_.front().error) {
    broken_ = line_.front().error;
    return *broken_;
  }
  return deliver();
}

bool Scheduler::help() {
  // A decision that was left half made is for a worker, which may take as long as it needs: what cannot be done in so
  // short a time, like an index, would be begun again and again here.
  if (half_decided_ && started_ > 0 && !stuck()) {
    if (run_next_ticket(consumer_)) return true;
    caller_.stand_down();
    rest_over_.notify_all();
    wake_workers(1);
    return false;
  }
  const auto deadline = half_decided_ ? std::nullopt : std::optional{Clock::now() + longest_help};
  return work_once(consumer_, deadline);
}

bool Scheduler::stuck() const {
  return stages_.at_rest() && waiting_since_ && Clock::now() - *waiting_since_ >= stuck_after_;
}

std::shared_ptr<const Batch::Content> Scheduler::deliver() {
  std::unique_ptr<Job> job = line_.pop();
  std::shared_ptr<const Batch::Content> content = std::move(job->content);
  ++stats_.batches;
  stats_.rows += content->layout.rows;
  complete_frac_ = content->layout.complete_frac;
  before_ = std::exchange(position_, content->layout.after);
  if (asked_prefetch_ == 0) {
    std::int64_t bytes = 1;
    for (const Value& value : content->values) {
      bytes += value.values.count() * static_cast<std::int64_t>(std::max<std::size_t>(1, size_of(value.values.dtype)));
    }
    batch_bytes_ = std::max(batch_bytes_, bytes);
    depth_ = static_cast<std::size_t>(std::clamp(ready_bytes / bytes, least_depth(threads_), most_depth));
  }
  line_.recycle(std::move(job), depth_);
  // Woken by halves: a worker that is woken for one batch at a time costs more than the batch.
  if (sleeping_ > 0 && !order_over_ && line_.size() <= depth_ / 2) work_there_.notify_one();
  return content;
}

}  // namespace forebay::engine
