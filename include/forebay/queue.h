// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/batch.h>
#include <forebay/column.h>
#include <forebay/json_codec.h>

namespace forebay {

namespace queues {
class QueueCore;
}

/// Which element a queue gives next.
enum class QueueKind : std::uint8_t {
  fifo,            ///< The oldest.
  random_shuffle,  ///< Any, with equal chances; while the queue is open, `min_after_dequeue` elements stay in it.
  padding_fifo,    ///< The oldest; elements differ in their unknown dims, and a batch is padded.
  priority,        ///< The smallest value of the first component, an int64 scalar; the oldest of equal ones.
};
template <>
struct EnumNames<QueueKind> {
  static constexpr std::array<std::string_view, 4> names{"fifo", "random_shuffle", "padding_fifo", "priority"};
};

/// One tensor of the elements.
struct QueueComponent {
  std::string name;  ///< For messages.
  DType dtype = DType::float32;
  /// None: any shape, and elements come out one at a time. Unknown dims: `padding_fifo` only.
  std::optional<Shape> shape = Shape{};
};

struct QueueOptions {
  QueueKind kind = QueueKind::fifo;
  std::string name = "queue";              ///< For messages.
  std::vector<QueueComponent> components;  ///< At least one.
  std::int64_t capacity = 32;              ///< Elements; below 0: no limit.
  std::int64_t min_after_dequeue = 0;      ///< Of random_shuffle: 0 or more, and fewer than `capacity`.
  std::optional<std::uint64_t> seed = {};  ///< Of random_shuffle. None: every queue draws another order.
};

using QueueElement = std::vector<Tensor>;  ///< A tensor for each component, in their order.

/// What a call found in a queue.
struct TakenElements {
  enum class Got : std::uint8_t {
    elements,
    nothing_yet,  ///< The time was over, and nothing was taken.
    end,          ///< The queue is closed and has too few elements.
  };
  Got got = Got::end;
  std::vector<Tensor> tensors = {};  ///< One for each component.
  std::int64_t left = 0;             ///< Elements in the queue at its end.
};

/// A queue of elements between threads; each element is a fixed tuple of typed tensors.
///
///     producers   enqueue, one after the other ─► elements, at most `capacity` ─► dequeue, one after the other
///     consumers
///
/// Calls of one direction are served in the order in which they came: one that waits blocks those after it. A call for
/// many elements takes or gives them one by one as they come, so it may be for more than `capacity`.
/// A call for many of a priority queue waits for all of them, if `capacity` has room for them, and gives them sorted.
///
/// Any number of threads may call. Copies share the queue. In a child of `fork` all calls fail with Code::state.
class Queue {
 public:
  static constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();
  /// The state at one moment.
  struct Sizes {
    std::int64_t elements = 0;  ///< In the queue, without those that a waiting call has taken already.
    std::int64_t waiting_enqueues = 0;
    std::int64_t waiting_dequeues = 0;
    std::int64_t enqueued = 0;  ///< Elements that ever went in.
    std::int64_t dequeued = 0;  ///< Elements that ever were delivered.
    bool closed = false;
    double fill_ratio = 0;     ///< elements / capacity; 0 without a limit.
    double fill_over_min = 0;  ///< max(0, elements - min_after_dequeue) / (capacity - min_after_dequeue).
  };

  /// Fails with Code::config, and with every fault of the options.
  [[nodiscard]] static Result<Queue> make(QueueOptions options);

  /// Adds an element, and waits while the queue is full; false: the time was over. Tensors with an owner are shared and
  /// must not change any more; others are copied. `check` is polled at least every 50 ms of a wait.
  ///
  /// Fails with Code::config for tensors that do not fit, and with Code::cancelled when the queue is closed or a
  /// cancelling `close` comes during the wait.
  [[nodiscard]] Result<bool> enqueue(QueueElement element, std::chrono::milliseconds wait = forever,
                                     const StopCheck* check = nullptr);
  /// Adds the rows of these tensors, [rows, shape…] each, one by one. Returns how many went in: fewer when the time was
  /// over. Rows that went in stay when the call fails. Otherwise as `enqueue`.
  [[nodiscard]] Result<std::int64_t> enqueue_many(QueueElement rows, std::chrono::milliseconds wait = forever,
                                                  const StopCheck* check = nullptr);

  /// Takes an element, and waits while there is none. After the last element of a closed queue it finds the end, or
  /// fails with the reason that `close` was given.
  [[nodiscard]] Result<TakenElements> dequeue(std::chrono::milliseconds wait = forever,
                                              const StopCheck* check = nullptr);
  /// Takes `count` elements as tensors [count, shape…], and waits for all of them. Does a closed queue have fewer, they
  /// stay in it, and the call ends as `dequeue` does. A call that fails or runs out of time has taken nothing.
  ///
  /// Fails with Code::config for a count below 0 and where the shape of a component is not declared.
  [[nodiscard]] Result<TakenElements> dequeue_many(std::int64_t count, std::chrono::milliseconds wait = forever,
                                                   const StopCheck* check = nullptr);
  /// The same; of a closed queue it takes what is left, unless nothing is.
  [[nodiscard]] Result<TakenElements> dequeue_up_to(std::int64_t count, std::chrono::milliseconds wait = forever,
                                                    const StopCheck* check = nullptr);

  /// Closes the queue as soon as the waiting `enqueue` calls are done, and does not wait for that; `cancel`: now, and
  /// these calls fail. Elements in the queue can still be taken. Closing again is harmless, and `cancel` may follow.
  /// `reason` says why no more elements come, if that is not the end of the data; the first one counts.
  void close(bool cancel = false, std::optional<Error> reason = {});
  [[nodiscard]] bool closed() const { return sizes().closed; }
  [[nodiscard]] Sizes sizes() const;
  [[nodiscard]] const QueueOptions& options() const;

 private:
  explicit Queue(std::shared_ptr<queues::QueueCore> core) : core_{std::move(core)} {}
  std::shared_ptr<queues::QueueCore> core_;
};

}  // namespace forebay
