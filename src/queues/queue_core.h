// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <forebay/queue.h>

#include "queues/queue_store.h"
#include "queues/saver_memory.h"

namespace forebay::queues {

/// How long a call may wait.
struct QueueWait {
  std::chrono::milliseconds longest;
  const StopCheck* check;  // polled during the wait, without the mutex; may be null
};

/// A call that waits in a queue. It lives in the frame of the call.
///
///     waits ─► done | closed | end | no_memory     set by the thread that changed the queue
struct QueueCall {
  enum class State : std::uint8_t { waits, done, closed, end, no_memory };
  State state = State::waits;
  bool closes = false;                  // a plain close, which comes after the calls before it
  bool up_to = false;                   // of a closed queue, takes what is left
  std::int64_t wanted = 0;              // elements that are still to be taken
  std::vector<QueueElement> rows = {};  // to go in; of a taking call those that it has
  std::size_t next = 0;                 // of `rows`, to go in
  std::int64_t left = 0;                // at the end: elements in the queue
  std::condition_variable woken = {};
};

/// The elements of a queue and the calls that wait for it. Thread-safe; shared by the copies of a Queue.
///
///     enqueues_  first ─► store_ ─► first  dequeues_
///
/// The thread that changes one of the three serves the first calls of both sides until nothing moves any more
/// (`serve`). Memory for batches is taken and filled without the mutex.
class QueueCore {
 public:
  explicit QueueCore(QueueOptions options);

  /// Returns how many of the elements went in.
  [[nodiscard]] Result<std::int64_t> enqueue(std::vector<QueueElement> elements, QueueWait wait);
  struct Taken {
    TakenElements::Got got = TakenElements::Got::end;
    std::vector<QueueElement> elements = {};
    std::int64_t left = 0;
  };
  [[nodiscard]] Result<Taken> dequeue(std::int64_t count, bool up_to, QueueWait wait);
  void put_back(std::vector<QueueElement> elements);  ///< Elements that were taken and not delivered.
  void close(bool cancel, std::optional<Error> reason);
  [[nodiscard]] Queue::Sizes sizes() const;
  [[nodiscard]] const QueueOptions& options() const { return options_; }
  [[nodiscard]] SaverMemory& memory() { return *memory_; }  ///< Of batches.
  /// Fails in a child of `fork`: another thread of the parent may have had the mutex.
  [[nodiscard]] Result<void> usable() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Lock = std::unique_lock<std::mutex>;
  using Calls = std::deque<QueueCall*>;

  // All of these are called with the mutex.
  void serve();
  [[nodiscard]] bool serve(Calls& calls);
  [[nodiscard]] bool advance(QueueCall& call, bool enqueues);
  [[nodiscard]] bool put(QueueCall& call);
  [[nodiscard]] bool take(QueueCall& call);
  [[nodiscard]] bool take_from_closed(QueueCall& call);
  [[nodiscard]] bool takes_at_once(const QueueCall& call) const;
  [[nodiscard]] bool full() const { return options_.capacity >= 0 && store_.size() >= options_.capacity; }
  void return_rows(QueueCall& call);
  void finish(QueueCall& call, QueueCall::State state);
  /// Waits until the call is served. False: the time is over; the call has left the line.
  [[nodiscard]] bool await(Lock& lock, Calls& calls, QueueCall& call, QueueWait wait);
  void leave(Calls& calls, QueueCall& call);

  [[nodiscard]] Error closed_error(std::int64_t inside) const;
  [[nodiscard]] Error memory_error() const;

  const QueueOptions options_;
  const std::int64_t process_;
  const std::shared_ptr<SaverMemory> memory_ = std::make_shared<SaverMemory>();
  mutable std::mutex mutex_;
  QueueStore store_;
  Calls enqueues_, dequeues_;
  QueueCall closing_{.closes = true};  // in `enqueues_` when a plain close waits
  bool close_waits_ = false, closed_ = false;
  std::optional<Error> reason_;
  std::int64_t enqueued_ = 0, dequeued_ = 0;
};

}  // namespace forebay::queues
