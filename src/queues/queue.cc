// SPDX-License-Identifier: Apache-2.0
#include <forebay/queue.h>

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>

#include "queues/queue_core.h"
#include "queues/queue_elements.h"

namespace forebay {

namespace {

/// Takes `count` elements and joins them. Elements that cannot be joined go back.
Result<TakenElements> take_joined(queues::QueueCore& core, std::int64_t count, bool up_to, queues::QueueWait wait) {
  FOREBAY_DO(queues::check_joined(core.options(), count));
  FOREBAY_TRY(queues::QueueCore::Taken taken, core.dequeue(count, up_to, wait));
  TakenElements out{.got = taken.got, .left = taken.left};
  if (taken.got != TakenElements::Got::elements) return out;
  try {
    out.tensors = queues::join_rows(core.options(), taken.elements, core.memory());
    return out;
  } catch (const std::exception&) {  // bad_alloc or length_error
    const auto size = std::ssize(taken.elements);
    core.put_back(std::move(taken.elements));
    return Error{
        Code::io, Detail::resource_exhausted,
        fmt::format("queue {}: no memory for a batch of {} elements; take fewer", quote(core.options().name), size)};
  }
}

/// In a child of `fork` the elements stay: another thread of the parent may have been changing them.
void end_core(queues::QueueCore* core) {
  std::unique_ptr<queues::QueueCore> owner{core};
  if (!owner->usable().ok()) static_cast<void>(owner.release());
}

}  // namespace

Result<Queue> Queue::make(QueueOptions options) {
  FOREBAY_DO(queues::check_options(options));
  return Queue{{std::make_unique<queues::QueueCore>(std::move(options)).release(), end_core}};
}

Result<bool> Queue::enqueue(QueueElement element, std::chrono::milliseconds wait, const StopCheck* check) {
  std::vector<QueueElement> elements(1);
  FOREBAY_TRY(elements.front(), queues::own_element(core_->options(), std::move(element)));
  FOREBAY_TRY(const std::int64_t inside, core_->enqueue(std::move(elements), {wait, check}));
  return inside == 1;
}

Result<std::int64_t> Queue::enqueue_many(QueueElement rows, std::chrono::milliseconds wait, const StopCheck* check) {
  FOREBAY_TRY(std::vector<QueueElement> elements, queues::own_rows(core_->options(), std::move(rows)));
  return core_->enqueue(std::move(elements), {wait, check});
}

Result<TakenElements> Queue::dequeue(std::chrono::milliseconds wait, const StopCheck* check) {
  FOREBAY_TRY(queues::QueueCore::Taken taken, core_->dequeue(1, false, {wait, check}));
  TakenElements out{.got = taken.got, .left = taken.left};
  if (!taken.elements.empty()) out.tensors = std::move(taken.elements.front());
  return out;
}

Result<TakenElements> Queue::dequeue_many(std::int64_t count, std::chrono::milliseconds wait, const StopCheck* check) {
  return take_joined(*core_, count, false, {wait, check});
}

Result<TakenElements> Queue::dequeue_up_to(std::int64_t count, std::chrono::milliseconds wait, const StopCheck* check) {
  return take_joined(*core_, count, true, {wait, check});
}

void Queue::close(bool cancel, std::optional<Error> reason) { core_->close(cancel, std::move(reason)); }
Queue::Sizes Queue::sizes() const { return core_->sizes(); }
const QueueOptions& Queue::options() const { return core_->options(); }

}  // namespace forebay
