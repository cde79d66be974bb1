// SPDX-License-Identifier: Apache-2.0
#include "queues/saver_core.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include <forebay/messages.h>

namespace forebay::queues {

namespace {

using SaverClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds saver_poll{50};

SaverClock::time_point later(SaverClock::time_point from, std::chrono::milliseconds wait) {
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(SaverClock::time_point::max() - from);
  return wait >= longest ? SaverClock::time_point::max() : from + std::max(wait, std::chrono::milliseconds{0});
}

Error saver_closed(const std::string& what) { return Error{Code::cancelled, Detail::failed_precondition, what}; }

}  // namespace

SaverCore::SaverCore(SaverPlan plan) : plan_{std::move(plan)} {
  if (plan_.sticky_rows) lanes_.resize(static_cast<std::size_t>(plan_.batch_size));
}

void SaverCore::doze(Lock& lock, std::condition_variable& condition, Time until, const StopCheck* check) {
  const Time poll = SaverClock::now() + saver_poll;
  const bool polls = check != nullptr && poll < until;
  const Time end = polls ? poll : until;
  const auto found =
      end == Time::max() ? (condition.wait(lock), std::cv_status::no_timeout) : condition.wait_until(lock, end);
  if (!polls || found == std::cv_status::no_timeout) return;
  lock.unlock();
  check->look();
  lock.lock();
}

Result<bool> SaverCore::insert(SaverExample example, SaverWait wait) {
  FOREBAY_TRY(Example live, make_live(plan_, std::move(example), *example_memory_));
  const Time until = later(SaverClock::now(), wait.longest);
  Lock lock{mutex_};
  while (!closed_ && !has_room()) {
    if (SaverClock::now() >= until) return false;
    doze(lock, room_, until, wait.check);
  }
  if (closed_)
    return saver_closed(
        fmt::format("example {}: the state saver is closed and takes no new examples", quote(*live->key)));
  if (plan_.make_keys_unique)
    live->key = std::make_shared<const std::string>(fmt::format("{}{:012}", *live->key, inserted_));
  if (keys_.contains({live->epoch, *live->key})) {
    return Error{
        Code::config, Detail::invalid_argument,
        fmt::format("example {}: an example of epoch {} with that key is live; insert it after the last segment "
                    "of the other was taken, give it another epoch, or set make_keys_unique",
                    quote(*live->key), live->epoch)};
  }
  add(live);
  return true;
}

void SaverCore::add(Example& example) {
  example->index = std::numeric_limits<std::int64_t>::min() + inserted_;
  const auto key = keys_.emplace(example->epoch, *example->key).first;
  const std::int32_t count = example->count;
  try {
    fresh_.push_back(std::move(example));
  } catch (...) {
    keys_.erase(key);
    throw;
  }
  ++inserted_;
  ++live_;
  undelivered_ += count;
  progress_ = SaverClock::now();
  if (takers_ > 0) changed_.notify_all();
}

Result<void> SaverCore::check_size(std::int64_t size) const {
  const auto bad = [&](const std::string& allowed) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("size: {} segments, allowed is {}", size, allowed)};
  };
  if (size < 0) return bad("0 or more");
  if (plan_.sticky_rows && size != plan_.batch_size)
    return bad(fmt::format("batch_size, {}: with sticky_rows all batches have the same rows", plan_.batch_size));
  if (plan_.capacity && size > *plan_.capacity && !plan_.allow_small_batch)
    return bad(fmt::format("at most capacity, {}: more are never ready", *plan_.capacity));
  return {};
}

Result<TakenSegments> SaverCore::take(std::optional<std::int64_t> size, SaverWait wait) {
  const std::int64_t wanted = size.value_or(plan_.batch_size);
  FOREBAY_DO(check_size(wanted));
  const Time begin = SaverClock::now();
  const Time until = later(begin, wait.longest);
  Lock lock{mutex_};
  while (true) {
    const Next found = plan_.sticky_rows ? next_sticky() : next(wanted);
    if (found.got == TakenSegments::Got::batch) return deliver(lock, found.rows);
    if (found.got == TakenSegments::Got::end) {
      ended_ = true;
      return TakenSegments{.got = found.got};
    }
    if (const auto error = overdue(begin)) return *error;
    if (SaverClock::now() >= until) return TakenSegments{.got = found.got};
    // States that nobody saves do not notify: the wait ends early to see whether it is overdue.
    const bool watched = held_ > 0 || !stuck_.empty();
    const Time since = watched ? std::max(begin, progress_) : SaverClock::now();
    const Time end = plan_.save_timeout.count() > 0 ? std::min(until, later(since, plan_.save_timeout)) : until;
    ++takers_;
    try {
      doze(lock, changed_, end, wait.check);
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      --takers_;
      throw;
    }
    --takers_;
  }
}

/// Fills a batch with the examples that are ready, `rows` of them. Without memory for it they stay ready.
Result<TakenSegments> SaverCore::deliver(Lock& lock, std::int64_t count) {
  reserve(count);
  const bool dropped = cancelled_;
  Rows rows = plan_.sticky_rows ? pick_sticky() : pick(count);
  const auto examples = std::ranges::count_if(rows, [](const Example& row) { return row != nullptr; });
  held_ += examples;
  taking_ += examples;
  lock.unlock();
  std::shared_ptr<SegmentBatch::Content> batch;
  bool filled = false;
  try {
    batch = std::make_shared<SegmentBatch::Content>(shared_from_this());
    fill(*batch, plan_, rows, *memory_);
    batch->rows.resize(rows.size());
    filled = true;
  } catch (const std::exception&) {  // bad_alloc or length_error
    batch.reset();                   // its end takes the mutex
  }
  lock.lock();
  held_ -= examples;
  taking_ -= examples;
  if (!filled) {
    put_back(std::move(rows), dropped);
    return Error{Code::io, Detail::resource_exhausted,
                 fmt::format("no memory for a batch of {} segments; take fewer, or make num_unroll smaller", count)};
  }
  count_taken(*batch, rows, dropped);
  if (held_ == 0 && takers_ > 0) changed_.notify_all();  // nothing more becomes ready: an end
  lock.unlock();
  return TakenSegments{.got = TakenSegments::Got::batch, .batch = SegmentBatch{std::move(batch)}};
}

/// Goes on to the next segment of each example. Those that have one move into the batch; the others stay in `rows`.
void SaverCore::count_taken(SegmentBatch::Content& batch, Rows& rows, bool dropped) {
  const std::int64_t live = live_;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]) continue;
    const bool last = ++rows[i]->next == rows[i]->count;
    if (cancelled_ && !dropped) continue;  // `cancel` has counted it
    --undelivered_;
    if (!cancelled_ && !last) {
      ++held_;
      batch.rows[i] = std::move(rows[i]);
      continue;
    }
    --live_;
    keys_.erase({rows[i]->epoch, *rows[i]->key});
  }
  if (live_ < live) room_.notify_all();
  batch.out = std::ranges::any_of(batch.rows, [](const Example& row) { return row != nullptr; });
  if (batch.out) out_.push_back(&batch);
}

/// Makes room for what a batch of `rows` examples adds later, so that nothing of that fails.
void SaverCore::reserve(std::int64_t rows) {
  const auto room = static_cast<std::size_t>(held_ + rows);
  stuck_.reserve(stuck_.size() + room);
  if (!plan_.sticky_rows) continuing_.reserve(continuing_.size() + room);
  out_.reserve(out_.size() + room);
}

Result<void> SaverCore::save(SegmentBatch::Content& batch, std::string_view name, const Tensor& values) {
  using Saved = SegmentBatch::Content::Saved;
  FOREBAY_TRY(const std::size_t state, find_column(plan_.states, name, "states"));
  FOREBAY_DO(check_values(batch, plan_, state, values));
  const auto refused = [&] {
    return saver_closed(
        fmt::format("state {}: the state saver was closed with cancel, so nothing can be saved", quote(name)));
  };
  Lock lock{mutex_};
  if (cancelled_) return refused();
  if (batch.saved[state] != Saved::no) {
    return Error{
        Code::state, Detail::failed_precondition,
        fmt::format("state {}: it was saved for this batch before; save each state of a batch once", quote(name))};
  }
  batch.saved[state] = Saved::claimed;
  lock.unlock();
  try {
    copy_values(batch, plan_, state, values);
  } catch (...) {
    lock.lock();
    batch.saved[state] = Saved::no;
    throw;
  }
  lock.lock();
  batch.saved[state] = Saved::yes;
  progress_ = SaverClock::now();
  if (cancelled_) return refused();
  if (std::ranges::all_of(batch.saved, [](Saved saved) { return saved == Saved::yes; })) make_ready(batch.rows);
  return {};
}

/// The next segments of these examples can be taken.
void SaverCore::make_ready(Rows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]) continue;
    --held_;
    if (plan_.sticky_rows) {
      lanes_[i] = std::move(rows[i]);
    } else {
      continuing_.push_back(std::move(rows[i]));
      std::ranges::push_heap(continuing_, std::greater{}, [](const Example& each) { return each->index; });
    }
  }
  if (takers_ > 0) changed_.notify_all();
}

void SaverCore::leave(SegmentBatch::Content& batch) noexcept {
  const std::lock_guard lock{mutex_};
  if (!batch.out) return;
  std::erase(out_, &batch);
  if (cancelled_) return;
  for (const Example& row : batch.rows) {
    if (!row) continue;
    --held_;
    stuck_.push_back({row->key});  // `count_taken` has reserved the room
    if (takers_ > 0) changed_.notify_all();
  }
}

Result<void> SaverCore::close(bool cancel_too) {
  const std::lock_guard lock{mutex_};
  if (cancelled_ || (closed_ && !cancel_too))
    return saver_closed(fmt::format("the state saver is already closed{}", cancelled_ ? ", and cancelled" : ""));
  closed_ = true;
  if (cancel_too) cancel();
  changed_.notify_all();
  room_.notify_all();
  return {};
}

/// Drops all segments that are not ready.
void SaverCore::cancel() {
  cancelled_ = true;
  dropped_ = undelivered_ - ready() - taking_;
  undelivered_ = live_ = ready();
  held_ = taking_;
  keys_.clear();
  stuck_.clear();
}

bool SaverCore::closed() const {
  const std::lock_guard lock{mutex_};
  return closed_;
}

StateSaver::Sizes SaverCore::sizes() const {
  const std::lock_guard lock{mutex_};
  return {.ready_segments = ready(),
          .ready_batches = ready() / plan_.batch_size,
          .waiting_segments = undelivered_ - ready(),
          .live_examples = live_,
          .undelivered_segments = dropped_ + (ended_ ? undelivered_ : 0)};
}

}  // namespace forebay::queues
