// SPDX-License-Identifier: Apache-2.0
#include "engine/run/scheduler.h"

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include "engine/memory/catch_all.h"
#include "engine/order/files/own_rows.h"
#include "engine/order/shards/run_shard.h"

namespace forebay::engine {

namespace {

// Depth before the first batch shows how large batches are, where the run names no `prefetch`.
constexpr std::int64_t first_depth = 2;
// Interval at which a resting worker looks whether the consumer still counts as a worker. Each look wakes the worker.
constexpr std::chrono::milliseconds longest_rest{5};

}  // namespace

/// Releases the mutex for the length of a task and accounts for its time.
class Scheduler::Unlocked {
 public:
  Unlocked(Scheduler& scheduler, const Worker& worker, Work work, std::int64_t what)
      FOREBAY_ANNOTATE(no_thread_safety_analysis)
      : scheduler_{scheduler}, thread_{worker.number}, work_{work}, what_{what}, since_{Clock::now()} {
    scheduler_.activity_.begin(thread_, work_, what_, since_);
    scheduler_.mutex_.unlock();
  }
  ~Unlocked() FOREBAY_ANNOTATE(no_thread_safety_analysis) {
    const auto now = Clock::now();
    scheduler_.spend(work_, now - since_);
    scheduler_.mutex_.lock();
    scheduler_.activity_.rest(thread_, now);
    scheduler_.trace_.add(thread_, work_, what_, since_, now);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Scheduler& scheduler_;
  const std::size_t thread_;
  const Work work_;
  const std::int64_t what_;
  const Clock::time_point since_;
};

Scheduler::Scheduler(std::shared_ptr<const Program> program, const RunOptions& options, Position start,
                     std::chrono::milliseconds stuck_after, RunParts parts)
    : program_{std::move(program)},
      parts_{std::move(parts)},
      pool_{parts_.pool ? parts_.pool
                        : std::make_shared<BufferPool>(options.memory, parts_.allocator, options.pin_memory)},
      pinned_{options.pin_memory},
      threads_{options.threads},
      asked_prefetch_{options.prefetch},
      stuck_after_{stuck_after},
      open_parts_{open_parts(*program_, pool_,
                             {.threads = options.threads,
                              .index_dir = options.index_dir,
                              .requests = options.requests,
                              .cache = {options.cache_dir, options.cache_size},
                              .processes = processes_of(*program_, shard_of(options))},
                             [this] { wake(); })},
      order_{*program_, open_files_, start, shard_of(options)},
      executor_{program_, pool_, options.threads},
      consumer_{executor_.worker(static_cast<std::size_t>(options.threads))},
      line_{start.next},
      depth_{static_cast<std::size_t>(options.prefetch > 0 ? options.prefetch : first_depth)},
      next_number_{start.next},
      from_epoch_{start.from},
      row_shards_{options.shard_count},
      row_skips_{program_->on_corrupt, start},
      complete_frac_{share_of_run(start, *program_)},
      activity_{static_cast<std::size_t>(options.threads) + 1},
      trace_{options.trace, static_cast<std::size_t>(options.threads)} {
  workers_.reserve(static_cast<std::size_t>(threads_));
  for (; started_ < threads_; ++started_) {
    try {
      workers_.emplace_back([this, number = static_cast<std::size_t>(started_)] { work(number); });
    } catch (const std::exception&) {
      break;  // the consumer does the work of the missing threads
    }
  }
}

Scheduler::~Scheduler() { close(); }

void Scheduler::close() {
  if (!begin_close()) return;
  open_files_.stop();
  if (parts_.passes) parts_.passes->stop();
  if (!parts_.pool) pool_->close();
  for (std::thread& worker : workers_) worker.join();
  {
    const Lock lock{mutex_};
    while (caller_.inside()) caller_left_.wait(mutex_);  // the consumer may be running a ticket
  }
  open_files_.close_readers();  // without the mutex, which a feed's `wake` takes
  const Lock lock{mutex_};
  if (!line_.empty()) order_ended_ = order_over_ = false;  // the decided end is not delivered any more
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

void Scheduler::skip_to(std::int64_t epoch) {
  const Lock lock{mutex_};
  from_epoch_ = std::max(from_epoch_, epoch);
}

void Scheduler::spend(Work work, std::chrono::nanoseconds time) {
  const std::int64_t ns = time.count();
  spent_.ns[static_cast<std::size_t>(work)].fetch_add(ns, std::memory_order_relaxed);
}

void Scheduler::work(std::size_t number) {
  const auto thrown = catch_all(
      [&] {
        if (pinned_) pinned_->begin_worker();
        Worker worker = executor_.worker(number);
        take_turns(worker);
      },
      no_memory_for_run);
  if (!thrown) return;
  const Lock lock{mutex_};
  if (!broken_) broken_ = thrown;
  announce();
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
    const auto now = Clock::now();
    spend(Work::idle, now - since);
    trace_.add(worker.number, Work::idle, 0, since, now);
  }
}

bool Scheduler::one_too_many() const {
  const bool left_to_workers = caller_.waits() && line_.next_is_large();
  return caller_.stands_in() && !left_to_workers && started_ - resting_ >= threads_;
}

void Scheduler::rest() {
  ++resting_;
  while (!stopped_ && caller_.stands_in()) {
    rest_over_.wait_until(mutex_, Clock::now() + longest_rest);
    caller_.look(Clock::now());
  }
  --resting_;
}

bool Scheduler::work_once(Worker& worker, std::optional<Clock::time_point> deadline) {
  // With several threads, deciding comes first while few batches are left: waking a worker that sleeps for want of a
  // ticket is expensive.
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
  if (may_look_again()) {
    look_again(worker, deadline);
    return true;
  }
  return scan_next(worker, deadline.has_value());
}

bool Scheduler::scan_next(Worker& worker, bool soon) {
  const auto file = open_files_.claim(soon);
  if (file) scan_ahead(file, worker);
  return file != nullptr;
}

bool Scheduler::run_next_ticket(Worker& worker) {
  if (!leaves_room()) return false;
  Ticket* const ticket = line_.take_ticket();
  if (ticket == nullptr) return false;
  run_ticket(*ticket, worker);
  return true;
}

bool Scheduler::may_decide() const {
  if (baton_taken_ || starved_ || order_ended_ || order_over_ || line_.size() >= depth_) return false;
  return line_.empty() || has_room();
}

/// Whether the unfinished batches and one more fit into the budget. Their memory is charged bit by bit.
bool Scheduler::has_room() const {
  const auto making = static_cast<std::int64_t>(line_.size()) - static_cast<std::int64_t>(line_.done());
  return !pool_->over((making + 1) * batch_bytes_);
}

/// Whether blocks that are cached for later passes take the room of a batch.
bool Scheduler::order_is_crowded_out() const {
  if (baton_taken_ || order_ended_ || order_over_ || line_.size() >= depth_ || line_.empty()) return false;
  return !has_room() && open_files_.keeps_content();
}

void Scheduler::make_room(Worker& worker) {
  const Unlocked doing{*this, worker, Work::order, line_.next()};
  open_files_.drop_kept_content();
}

void Scheduler::decide_order(Worker& worker, std::optional<Clock::time_point> deadline) {
  do {
    decide_batch(worker, deadline);
  } while (threads_ > 1 && !stopped_ && !half_decided_ && may_decide());
}

void Scheduler::decide_batch(Worker& worker, std::optional<Clock::time_point> deadline) {
  baton_taken_ = true;
  const std::uint64_t wakes = wakes_;
  std::unique_ptr<Job> job = half_decided_ ? std::move(half_decided_) : line_.spare();
  const Wanted wanted{.finished = line_.finished(), .from_epoch = from_epoch_};
  Result<bool> more = false;
  std::optional<Error> thrown;
  {
    const Unlocked doing{*this, worker, Work::order, line_.next()};
    thrown = catch_all([&] { more = decide(job, wanted, deadline); }, no_memory_for_order);
  }
  baton_taken_ = false;
  if (!thrown && !more.ok() && open_files_.interrupted(more.error())) {
    half_decided_ = std::move(job);
    starved_ = open_files_.starved() && wakes_ == wakes;
    if (!starved_) wake_workers(1);
    return;
  }
  if (!thrown && more.ok() && *more) {
    const std::size_t tasks = job->cut;
    batch_bytes_ = std::max(batch_bytes_, job->expected_bytes);
    const std::int64_t rows = job->layout.rows;
    const std::optional<Error> fault = job->fault;
    if (!line_.add(std::move(job))) {
      thrown = no_memory_for_order;
    } else {
      stats_.ordered_rows += rows;
      wake_workers(tasks);
      if (!fault) return;
      thrown = fault;
    }
  }
  if (thrown) {
    order_error_ = thrown;
  } else if (!more.ok()) {
    order_error_ = more.error();
  }
  order_ended_ = !order_error_;
  order_over_ = order_error_.has_value();
  announce();
}

/// All batches are made, so no record is read any more.
bool Scheduler::may_look_again() const {
  return order_ended_ && !order_over_ && !baton_taken_ && line_.done() == line_.size();
}

/// Looks whether the files are still what they were.
void Scheduler::look_again(Worker& worker, std::optional<Clock::time_point> deadline) {
  baton_taken_ = true;
  Result<bool> all = false;
  std::optional<Error> thrown;
  {
    const Unlocked doing{*this, worker, Work::order, line_.next()};
    thrown = catch_all([&] { all = open_files_.end_run(deadline); }, no_memory_for_order);
  }
  baton_taken_ = false;
  if (!thrown && all.ok() && !*all) return;
  if (thrown) order_error_ = thrown;
  if (!thrown && !all.ok()) order_error_ = all.error();
  order_over_ = true;
  announce();
}

/// Decides and cuts one batch. Called by the holder of the baton, without the mutex. False at the end of the run.
Result<bool> Scheduler::decide(std::unique_ptr<Job>& job, const Wanted& wanted,
                               std::optional<Clock::time_point> deadline) {
  if (!job) job = std::make_unique<Job>();
  open_files_.collect(wanted.finished);
  open_files_.set_deadline(deadline);
  order_.skip_to(wanted.from_epoch);
  auto more = order_.next(job->layout);
  job->epoch = job->layout.epoch;
  job->left_out = false;
  job->fault.reset();
  if (!more.ok() && more.error().code() == Code::data && order_.take_before_fault(job->layout)) {
    job->fault = more.error();
    if (executor_.cut(*job).ok()) more = true;
  } else if (more.ok() && *more) {
    if (auto cut = executor_.cut(*job); !cut.ok()) more = cut.error();
  }
  job->layout.account(*pool_);
  order_.account(*pool_);
  open_files_.limit_memory();
  take_gauges();
  return more;
}

void Scheduler::run_ticket(Ticket& ticket, Worker& worker) {
  Job& job = *ticket.job;
  const bool last = job.remaining == 1;  // no other thread works on this batch
  if (job.epoch < from_epoch_) job.left_out = true;
  if (!job.left_out) {
    running_bytes_ += ticket.bytes;
    const auto failed = run_rows(ticket, worker);
    if (!leaves_room()) wake_workers(static_cast<std::size_t>(threads_));
    running_bytes_ -= ticket.bytes;
    if (!failed && ticket.begins_row()) stats_.decoded_rows += ticket.rows;
    const std::pair place{failed ? failed->row : 0, ticket.first_span};
    if (failed && (!job.error || place < std::pair{job.error_row, job.error_span})) {
      job.error = failed->error;
      std::tie(job.error_row, job.error_span) = place;
    }
  }
  if (--job.remaining > 0) return;
  if (!last && !job.error && !job.left_out) {
    const Unlocked doing{*this, worker, Work::decode, job.number};
    finish(job);
  }
  batch_bytes_ = std::max(batch_bytes_, job.made_bytes);
  line_.finish(job);
  if (!line_.ready()) return;
  if (caller_.waits()) batch_done_.notify_one();
  if (parts_.ready) parts_.ready();
}

/// Makes the rows of a ticket, without the mutex. Finishes the batch when no other ticket of it is left.
std::optional<RowError> Scheduler::run_rows(Ticket& ticket, Worker& worker) {
  Job& job = *ticket.job;
  const bool last = job.remaining == 1;
  std::optional<RowError> failed;
  const Unlocked doing{*this, worker, Work::decode, job.number};
  if (auto thrown = catch_all([&] { failed = executor_.run(ticket, worker); }))
    failed = RowError{*thrown, ticket.first_row};
  if (last && !failed && !job.error) finish(job);
  return failed;
}

/// Finishes a batch whose tickets are done. No other thread works on it.
void Scheduler::finish(Job& job) const {
  const auto work = [&] {
    job.error = job.fault && !parts_.gives_short ? job.fault : executor_.finish(job);
    if (job.error || !parts_.finished) return;
    if (auto handed_over = parts_.finished(job.content); !handed_over.ok()) job.error = handed_over.error();
  };
  if (auto thrown = catch_all(work)) job.error = std::move(thrown);
}

void Scheduler::scan_ahead(const std::shared_ptr<ReaderState>& file, Worker& worker) {
  const Unlocked doing{*this, worker, Work::scan, open_files_.number_of(*file)};
  open_files_.scan(file);
}

}  // namespace forebay::engine
