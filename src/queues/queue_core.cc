// SPDX-License-Identifier: Apache-2.0
#include "queues/queue_core.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include <forebay/messages.h>

#include "base/draw.h"

namespace forebay::queues {

namespace {

using QueueClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds queue_poll{50};

QueueClock::time_point queue_deadline(std::chrono::milliseconds wait) {
  const QueueClock::time_point now = QueueClock::now();
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(QueueClock::time_point::max() - now);
  return wait >= longest ? QueueClock::time_point::max() : now + std::max(wait, std::chrono::milliseconds{0});
}

/// The seed of the options, or one that differs from queue to queue and from run to run.
std::uint64_t seed_of(const QueueOptions& options, const void* queue) {
  if (options.seed) return *options.seed;
  const auto time = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  return mix(mix(time) + reinterpret_cast<std::uintptr_t>(queue)) + static_cast<std::uint64_t>(getpid());
}

}  // namespace

QueueCore::QueueCore(QueueOptions options)
    : options_{std::move(options)}, process_{getpid()}, store_{options_.kind, seed_of(options_, this)} {}

Result<void> QueueCore::usable() const {
  if (process_ == getpid()) return {};
  return Error{Code::state, Detail::failed_precondition,
               fmt::format("queue {}: it is of the process before fork; make a queue in each process, or start "
                           "processes with spawn",
                           quote(options_.name))};
}

Error QueueCore::closed_error(std::int64_t inside) const {
  std::string text = fmt::format("queue {} is closed", quote(options_.name));
  if (inside > 0) text += fmt::format("; {} elements of the call went in before", inside);
  if (reason_) text += fmt::format(", because of: {}", reason_->text());
  return Error{Code::cancelled, Detail::failed_precondition, std::move(text)};
}

Error QueueCore::memory_error() const {
  return Error{Code::io, Detail::resource_exhausted,
               fmt::format("queue {}: no memory for more elements", quote(options_.name))};
}

void QueueCore::finish(QueueCall& call, QueueCall::State state) {
  call.state = state;
  call.left = store_.size();
  call.woken.notify_one();
}

void QueueCore::return_rows(QueueCall& call) {
  call.wanted += std::ssize(call.rows);
  store_.put_back(std::move(call.rows));
  call.rows.clear();
}

/// Puts rows in until there is no room. Returns whether anything changed.
bool QueueCore::put(QueueCall& call) {
  if (closed_) return finish(call, QueueCall::State::closed), true;
  bool moved = false;
  for (; call.next < call.rows.size() && !full(); ++call.next, ++enqueued_, moved = true)
    store_.push(std::move(call.rows[call.next]));
  if (call.next == call.rows.size()) return finish(call, QueueCall::State::done), true;
  return moved;
}

/// The queue has too few elements for the call, and no more come. Returns whether the call is over or waits.
bool QueueCore::take_from_closed(QueueCall& call) {
  return_rows(call);
  if (!call.up_to || store_.size() == 0) return finish(call, QueueCall::State::end), true;
  call.wanted = store_.size();
  return false;
}

/// Whether a call waits until all that it wants are inside: the smallest of a priority queue are known then only.
bool QueueCore::takes_at_once(const QueueCall& call) const {
  return options_.kind == QueueKind::priority && (options_.capacity < 0 || call.wanted <= options_.capacity);
}

/// Takes elements until there are no more to be had. Returns whether anything changed.
bool QueueCore::take(QueueCall& call) {
  if (closed_ && store_.size() < call.wanted && take_from_closed(call)) return true;
  if (store_.size() < call.wanted && call.rows.empty() && takes_at_once(call)) return false;
  const std::int64_t floor = closed_ ? 0 : options_.min_after_dequeue;
  bool moved = false;
  for (; call.wanted > 0 && store_.size() > floor; --call.wanted, moved = true) {
    call.rows.emplace_back();
    call.rows.back() = store_.pop();
  }
  if (call.wanted > 0) return moved;
  if (options_.kind == QueueKind::priority) std::ranges::stable_sort(call.rows, {}, priority_of);
  dequeued_ += std::ssize(call.rows);
  return finish(call, QueueCall::State::done), true;
}

bool QueueCore::advance(QueueCall& call, bool enqueues) {
  try {
    return enqueues ? put(call) : take(call);
  } catch (const std::bad_alloc&) {  // an error of this call, on whatever thread it is served
    if (!enqueues) return_rows(call);
    finish(call, QueueCall::State::no_memory);
    return true;
  }
}

/// Serves the first calls of one side as far as they get. Returns whether anything changed.
bool QueueCore::serve(Calls& calls) {
  bool changed = false;
  while (!calls.empty()) {
    QueueCall& call = *calls.front();
    if (call.closes) {
      closed_ = true;
      close_waits_ = false;
    } else {
      if (!advance(call, &calls == &enqueues_)) return changed;
      changed = true;
      if (call.state == QueueCall::State::waits) return true;
    }
    changed = true;
    calls.pop_front();
  }
  return changed;
}

void QueueCore::serve() {
  bool changed = true;
  while (changed) {
    changed = serve(enqueues_);
    changed = serve(dequeues_) || changed;
  }
}

void QueueCore::leave(Calls& calls, QueueCall& call) {
  std::erase(calls, &call);
  if (&calls == &dequeues_) return_rows(call);
  serve();
}

bool QueueCore::await(Lock& lock, Calls& calls, QueueCall& call, QueueWait wait) {
  const Time until = queue_deadline(wait.longest);
  while (call.state == QueueCall::State::waits) {
    const Time now = QueueClock::now();
    if (now >= until) return leave(calls, call), false;
    const Time end = wait.check == nullptr ? until : std::min(until, now + queue_poll);
    const auto found =
        end == Time::max() ? (call.woken.wait(lock), std::cv_status::no_timeout) : call.woken.wait_until(lock, end);
    if (wait.check == nullptr || found == std::cv_status::no_timeout) continue;
    lock.unlock();
    try {
      wait.check->look();
    } catch (...) {
      lock.lock();
      if (call.state == QueueCall::State::waits) {
        leave(calls, call);
      } else if (&calls == &dequeues_ && call.state == QueueCall::State::done) {
        dequeued_ -= std::ssize(call.rows);
        return_rows(call);
        serve();
      }
      throw;
    }
    lock.lock();
  }
  return true;
}

Result<std::int64_t> QueueCore::enqueue(std::vector<QueueElement> elements, QueueWait wait) {
  FOREBAY_DO(usable());
  if (elements.empty()) return std::int64_t{0};
  QueueCall call{.rows = std::move(elements)};
  Lock lock{mutex_};
  enqueues_.push_back(&call);
  serve();
  static_cast<void>(await(lock, enqueues_, call, wait));
  const auto inside = static_cast<std::int64_t>(call.next);
  if (call.state == QueueCall::State::closed) return closed_error(inside);
  if (call.state == QueueCall::State::no_memory) return memory_error();
  return inside;
}

Result<QueueCore::Taken> QueueCore::dequeue(std::int64_t count, bool up_to, QueueWait wait) {
  FOREBAY_DO(usable());
  if (count == 0) return Taken{.got = TakenElements::Got::elements};
  QueueCall call{.up_to = up_to, .wanted = count};
  Lock lock{mutex_};
  dequeues_.push_back(&call);
  serve();
  if (!await(lock, dequeues_, call, wait)) return Taken{.got = TakenElements::Got::nothing_yet};
  if (call.state == QueueCall::State::no_memory) return memory_error();
  if (call.state == QueueCall::State::end) {
    if (reason_) return *reason_;
    return Taken{.got = TakenElements::Got::end, .left = call.left};
  }
  return Taken{.got = TakenElements::Got::elements, .elements = std::move(call.rows)};
}

void QueueCore::put_back(std::vector<QueueElement> elements) {
  const std::lock_guard lock{mutex_};
  dequeued_ -= std::ssize(elements);
  store_.put_back(std::move(elements));
  serve();
}

void QueueCore::close(bool cancel, std::optional<Error> reason) {
  if (!usable().ok()) return;
  const std::lock_guard lock{mutex_};
  if (reason && !reason_) reason_ = std::move(reason);
  if (cancel) {
    closed_ = true;
  } else if (!closed_ && !close_waits_) {
    enqueues_.push_back(&closing_);
    close_waits_ = true;
  }
  serve();
}

Queue::Sizes QueueCore::sizes() const {
  if (!usable().ok()) return {};
  const std::lock_guard lock{mutex_};
  Queue::Sizes out{.elements = store_.size(),
                   .waiting_enqueues = std::ssize(enqueues_) - (close_waits_ ? 1 : 0),
                   .waiting_dequeues = std::ssize(dequeues_),
                   .enqueued = enqueued_,
                   .dequeued = dequeued_,
                   .closed = closed_};
  const auto ratio = [](std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(std::max<std::int64_t>(part, 0)) / static_cast<double>(whole) : 0;
  };
  const std::int64_t floor = options_.min_after_dequeue;
  out.fill_ratio = ratio(out.elements, options_.capacity);
  out.fill_over_min = ratio(out.elements - floor, options_.capacity - floor);
  return out;
}

}  // namespace forebay::queues
