// SPDX-License-Identifier: Apache-2.0
// The consumer's side of the scheduler, and who is woken when.
#include <algorithm>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "engine/memory/catch_all.h"
#include "engine/run/deadline.h"
#include "engine/run/scheduler.h"

namespace forebay::engine {

namespace {

// Depth of a run that names no `prefetch`: as many batches as stay in the second-level cache, but at most 16.
constexpr std::int64_t ready_bytes = std::int64_t{2} << 20;
constexpr std::int64_t max_depth = 16;
// The depth for large batches: with fewer, several threads would wait for the slowest one (docs/adr/0014).
constexpr std::int64_t min_depth(std::int64_t threads) {
  return threads == 1 ? 2 : std::min(2 * threads + 2, max_depth);
}
// The consumer must return in time to notice an interrupt.
constexpr std::chrono::milliseconds longest_help{20};

}  // namespace

Result<std::shared_ptr<const Batch::Content>> Scheduler::next(std::optional<std::chrono::milliseconds> timeout,
                                                              bool& timed_out) {
  timed_out = false;
  const auto since = Clock::now();
  const Lock lock{mutex_};
  caller_.enter(since);
  const std::int64_t asked_for = next_number_;
  Result<std::shared_ptr<const Batch::Content>> out = std::shared_ptr<const Batch::Content>{};
  try {
    out = next_locked(since, deadline_of(since, timeout), timed_out);
  } catch (const std::bad_alloc&) {
    if (!broken_) broken_ = no_memory_for_run;
    out = *broken_;
  }
  const auto now = Clock::now();
  trace_.add(consumer_.number, Work::idle, asked_for, since, now);
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
    if (stopped_) return was_closed;
    if (front_ready()) break;
    if (line_.empty() && order_over_) {
      const auto judged = row_skips_.end();
      if (!order_error_ && judged.ok()) {
        if (next_number_ == 0 && from_epoch_ == 0 && !empty_run_noted_ && !parts_.pool) note_empty_run();
        return std::shared_ptr<const Batch::Content>{};
      }
      broken_ = order_error_ ? order_error_ : judged.error();
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
  if (const auto judged = row_skips_.judge(*line_.front().content); !judged.ok()) {
    broken_ = judged.error();
    return *broken_;
  }
  return deliver();
}

/// A run that ends without a batch although there are records says so.
void Scheduler::note_empty_run() {
  const std::int64_t records = open_files_.records();
  empty_run_noted_ = true;
  if (records == 0) return;
  notice_ = fmt::format(
      "this run gave no batch: what is left of {} records does not fill one; make the batches smaller, "
      "or give the rest, too (`remainder`: \"keep\")",
      records);
}

/// A batch of which this shard gets no row says so: a loss over it is not a number.
void Scheduler::note_empty_batch(const BatchLayout& layout) {
  if (layout.rows > 0 || row_shards_ <= 1 || empty_batch_noted_) return;
  empty_batch_noted_ = true;
  notice_ = fmt::format(
      "batch {} has fewer rows than there are row shards ({}), so this shard has none of them; `remainder`: \"drop\" "
      "or \"pad\" "
      "gives every shard rows in every batch, and shards by batch have whole batches",
      layout.number, row_shards_);
}

std::string Scheduler::take_notice() {
  if (std::string line = open_files_.take_notice(); !line.empty()) return line;
  if (std::string line = executor_.take_note(); !line.empty()) return line;
  const Lock lock{mutex_};
  return std::exchange(notice_, {});
}

bool Scheduler::front_ready() {
  while (line_.ready() && line_.front().epoch < from_epoch_) {
    static_cast<void>(line_.pop());
    wake_workers(1);
  }
  return line_.ready();
}

bool Scheduler::help() {
  // A half-made decision and the tickets of a large batch are left to a worker, which may take as long as it needs. The
  // consumer would begin work that takes long, such as an index, again and again.
  const bool large = line_.next_is_large();
  if (starved_ && !large) return run_next_ticket(consumer_) || scan_next(consumer_, true);
  if ((half_decided_ || large) && started_ > 0 && !stuck()) {
    if (!large && run_next_ticket(consumer_)) return true;
    caller_.stand_down();
    rest_over_.notify_all();
    wake_workers(1);
    return false;
  }
  const auto deadline = half_decided_ ? std::nullopt : std::optional{Clock::now() + longest_help};
  return work_once(consumer_, deadline);
}

bool Scheduler::stuck() const {
  return !starved_ && activity_.at_rest() && waiting_since_ && Clock::now() - *waiting_since_ >= stuck_after_;
}

/// Tells the consumer, and a run whose rows these are, that the next batch is there, or that there is none.
void Scheduler::announce() {
  batch_done_.notify_all();
  if (parts_.ready) parts_.ready();
}

void Scheduler::wake() {
  const Lock lock{mutex_};
  ++wakes_;
  if (!std::exchange(starved_, false) && program_->source.rows) return;  // bytes can be scanned in any case
  wake_workers(1);
  if (caller_.waits()) batch_done_.notify_one();
}

void Scheduler::wake_workers(std::size_t tasks) {
  for (std::size_t i = 0; i < std::min(tasks, sleeping_); ++i) work_there_.notify_one();
}

std::shared_ptr<const Batch::Content> Scheduler::deliver() {
  std::unique_ptr<Job> job = line_.pop();
  std::shared_ptr<const Batch::Content> content = std::move(job->content);
  ++stats_.batches;
  stats_.rows += content->layout.rows;
  stats_.frames += content->frames;
  stats_.padded_frames += content->padded_frames;
  stats_.branches.resize(content->layout.branches.size());
  for (std::size_t i = 0; i < stats_.branches.size(); ++i)
    stats_.branches[i].rows += std::ssize(content->layout.branches[i].handles);
  note_empty_batch(content->layout);
  complete_frac_ = content->layout.done.of_run;
  next_number_ = content->layout.number + 1;
  if (asked_prefetch_ == 0) {
    const std::int64_t bytes = std::max<std::int64_t>(1, job->tensor_bytes);
    depth_ = static_cast<std::size_t>(std::clamp(ready_bytes / bytes, min_depth(threads_), max_depth));
  }
  line_.recycle(std::move(job), depth_);
  // A worker is woken when the line is half empty: waking one for every batch costs more than the batch.
  if (sleeping_ > 0 && !order_over_ && line_.size() <= depth_ / 2) work_there_.notify_one();
  return content;
}

}  // namespace forebay::engine
