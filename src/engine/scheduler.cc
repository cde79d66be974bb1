// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "engine/guarded.h"

namespace forebay::engine {

namespace {

// What a run that names no depth keeps ready: as many batches as stay in the second-level cache, within reason.
constexpr std::int64_t ready_bytes = std::int64_t{2} << 20;
constexpr std::int64_t least_depth = 2;
constexpr std::int64_t most_depth = 16;
// The caller of next must come back in time to notice an interrupt.
constexpr std::chrono::milliseconds longest_help{20};
// How long a caller of next that stood in for a worker may be away unnoticed: each look wakes a thread.
constexpr std::chrono::milliseconds longest_rest{5};

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
      depth_{static_cast<std::size_t>(options.prefetch > 0 ? options.prefetch : least_depth)},
      finished_{start.next},
      position_{start},
      before_{start},
      complete_frac_{static_cast<double>(start.done) / 1e6},
      stages_{static_cast<std::size_t>(options.threads) + 1} {
  for (; started_ < threads_; ++started_) {
    try {
      workers_.emplace_back([this, number = static_cast<std::size_t>(started_)] { work(number); });
    } catch (const std::system_error&) {
      break;  // the caller of next does the work that no thread could be started for
    }
  }
}

Scheduler::~Scheduler() { close(); }

void Scheduler::close() {
  {
    const Lock lock{mutex_};
    stopped_ = true;
    rest_over_.notify_all();
    work_there_.notify_all();
    batch_done_.notify_all();
  }
  streams_.stop();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  const Lock lock{mutex_};
  while (caller_.inside()) caller_left_.wait(mutex_);  // it may be helping with a ticket
  tickets_.clear();
  jobs_.clear();
  spare_.clear();
}

void Scheduler::spend(Work work, std::chrono::nanoseconds time) {
  const std::int64_t ns = time.count();
  spent_.ns[static_cast<std::size_t>(work)].fetch_add(ns, std::memory_order_relaxed);
}

void Scheduler::work(std::size_t number) {
  Worker worker = executor_.worker(number);
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
  const bool running_low = threads_ > 1 && jobs_.size() <= depth_ / 2;
  if (!(running_low && may_decide()) && run_next_ticket(worker)) return true;
  if (may_decide()) {
    decide_order(worker, deadline);
    return true;
  }
  if (const auto file = streams_.claim()) {
    scan_ahead(file, worker);
    return true;
  }
  return false;
}

bool Scheduler::run_next_ticket(Worker& worker) {
  if (tickets_.empty()) return false;
  Ticket& ticket = *tickets_.front();
  tickets_.pop_front();
  run_ticket(ticket, worker);
  return true;
}

bool Scheduler::may_decide() const {
  if (baton_taken_ || order_over_ || jobs_.size() >= depth_) return false;
  return jobs_.empty() || !pool_->over(batch_bytes_);
}

void Scheduler::decide_order(Worker& worker, std::optional<Clock::time_point> deadline) {
  do {
    decide_batch(worker, deadline);
  } while (threads_ > 1 && !stopped_ && !half_decided_ && may_decide());
}

void Scheduler::decide_batch(Worker& worker, std::optional<Clock::time_point> deadline) {
  baton_taken_ = true;
  std::unique_ptr<Job> job = half_decided_ ? std::move(half_decided_) : spare_job();
  const std::int64_t finished = finished_;
  const std::int64_t number = jobs_.empty() ? position_.next : jobs_.back()->number + 1;
  Result<bool> more = false;
  {
    const Doing doing{*this, worker, Work::order, number};
    auto thrown = guarded([&] {
      streams_.collect(finished);
      streams_.set_deadline(deadline);
      more = order_.next(job->layout);
      if (more.ok() && *more) {
        if (auto cut = executor_.cut(*job); !cut.ok()) more = cut.error();
      }
      streams_.limit_memory();
    });
    if (thrown) more = *thrown;
  }
  baton_taken_ = false;
  if (!more.ok() && streams_.interrupted()) {
    half_decided_ = std::move(job);
    wake_workers(1);
    return;
  }
  if (!more.ok()) order_error_ = more.error();
  if (!more.ok() || !*more) {
    order_over_ = true;
    batch_done_.notify_all();
    return;
  }
  job->number = job->layout.number;
  for (std::size_t i = 0; i < job->cut; ++i) tickets_.push_back(job->tickets[i].get());
  const std::size_t tasks = job->cut;
  jobs_.push_back(std::move(job));
  wake_workers(tasks);
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
  job.done = true;
  ++done_;
  // The finished prefix may grow by more than this batch.
  for (auto next = static_cast<std::size_t>(finished_ - jobs_.front()->number);
       next < jobs_.size() && jobs_[next]->done; ++next)
    ++finished_;
  if (caller_.waits() && jobs_.front()->done) batch_done_.notify_one();
}

/// Of a batch whose tickets are done; nobody else is at it.
void Scheduler::finish(Job& job) const {
  if (auto thrown = guarded([&] { job.error = executor_.finish(job); })) job.error = std::move(thrown);
}

void Scheduler::scan_ahead(const std::shared_ptr<Streams::Open>& file, Worker& worker) {
  const Doing doing{*this, worker, Work::scan, Streams::number_of(*file)};
  streams_.scan(file);
}

std::unique_ptr<Job> Scheduler::spare_job() {
  if (spare_.empty()) return std::make_unique<Job>();
  std::unique_ptr<Job> job = std::move(spare_.back());
  spare_.pop_back();
  return job;
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
  auto out = next_locked(since, patience, timed_out);
  const auto now = Clock::now();
  caller_.leave(now);
  stats_.consumer_wait_seconds += std::chrono::duration<double>(now - since).count();
  if (!timed_out) waiting_since_.reset();
  if (stopped_) caller_left_.notify_all();
  return out;
}

Result<std::shared_ptr<const Batch::Content>> Scheduler::next_locked(Clock::time_point since,
                                                                     std::optional<std::chrono::milliseconds> patience,
                                                                     bool& timed_out) {
  if (!began_) {
    began_ = since;
    work_there_.notify_all();
  }
  ++asked_;
  ready_fill_sum_ += static_cast<double>(done_) / static_cast<double>(depth_);
  while (true) {
    if (broken_) return *broken_;
    if (stopped_) return Error{Code::cancelled, "the pipeline was closed"};
    if (!jobs_.empty() && jobs_.front()->done) break;
    if (jobs_.empty() && order_over_) {
      if (!order_error_) return std::shared_ptr<const Batch::Content>{};
      broken_ = order_error_;
      continue;
    }
    if (!waiting_since_) waiting_since_ = since;
    if (patience && Clock::now() >= since + *patience) {
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
    batch_done_.wait_until(mutex_, patience ? std::min(look_again, since + *patience) : look_again);
    caller_.wait(false);
  }
  if (jobs_.front()->error) {
    broken_ = jobs_.front()->error;
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
  std::unique_ptr<Job> job = std::move(jobs_.front());
  jobs_.pop_front();
  --done_;
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
    depth_ = static_cast<std::size_t>(
        std::clamp(ready_bytes / bytes, std::max(least_depth, std::min(threads_ + 1, most_depth)), most_depth));
  }
  recycle(std::move(job));
  // Woken by halves: a worker that is woken for one batch at a time costs more than the batch.
  if (sleeping_ > 0 && !order_over_ && jobs_.size() <= depth_ / 2) work_there_.notify_one();
  return content;
}

void Scheduler::recycle(std::unique_ptr<Job> job) {
  job->content.reset();
  job->fixed.reset();
  job->error.reset();
  job->done = false;
  if (spare_.size() < depth_) spare_.push_back(std::move(job));
}

}  // namespace forebay::engine
