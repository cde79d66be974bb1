// SPDX-License-Identifier: Apache-2.0
// The epochs of a run. The loader's position says where the consumer is: in epoch `from`, of which a batch was given
// (or which has none) when `begun` is 1.
#include <forebay/epochs.h>

#include "engine/program/plan_access.h"
#include "engine/run/loader_access.h"

namespace forebay {

namespace {

constexpr auto for_ever = std::chrono::milliseconds::max();

}  // namespace

void Batches::advance() {
  batch_.reset();  // its memory is free for the next one
  if (epochs_ == nullptr) {
    if (auto batch = loader_->next(); batch.ok()) batch_ = *std::move(batch);
    return;
  }
  bool timed_out = false;
  auto batch = epochs_->peek_within(static_cast<const Epoch*>(this)->number(), for_ever, timed_out);
  if (!batch.ok() || !*batch) return;
  loader_->take();
  batch_ = *std::move(batch);
}

void Epochs::advance() {
  epoch_.reset();
  bool timed_out = false;
  const auto number = next_within(for_ever, timed_out);
  if (number.ok() && *number) epoch_ = Epoch{*loader_, *this, **number};
}

Result<std::optional<std::int64_t>> Epochs::next_within(std::chrono::milliseconds timeout, bool& timed_out) {
  timed_out = false;
  FOREBAY_TRY(engine::Position at, LoaderAccess::position(*loader_));
  std::optional<std::int64_t> next;
  if (number_ && *number_ == at.from) {
    next = at.from + 1;
  } else {
    FOREBAY_TRY(next, present(timeout, timed_out));
    if (!next) return next;
  }
  const auto epochs = engine::program_of(loader_->plan()).epochs;
  if (epochs ? *next >= *epochs : ended_) return std::optional<std::int64_t>{};
  if (*next > at.from) FOREBAY_DO(LoaderAccess::skip_to(*loader_, *next));
  number_ = next;
  return next;
}

/// The epoch of the batch that comes next; when the loader has gone past the one it was in, the one after that.
Result<std::optional<std::int64_t>> Epochs::present(std::chrono::milliseconds timeout, bool& timed_out) {
  FOREBAY_TRY(const engine::Position at, LoaderAccess::position(*loader_));
  if (at.begun == 0) return std::optional{at.from};
  FOREBAY_TRY(const auto batch, loader_->peek_within(timeout, timed_out));
  if (timed_out) return std::optional<std::int64_t>{};
  ended_ = !batch;
  return std::optional{batch && batch->epoch() <= at.from ? at.from : at.from + 1};
}

Result<std::optional<Batch>> Epochs::peek_within(std::int64_t number, std::chrono::milliseconds timeout,
                                                 bool& timed_out) {
  timed_out = false;
  FOREBAY_TRY(const engine::Position at, LoaderAccess::position(*loader_));
  if (at.from != number) return std::optional<Batch>{};
  FOREBAY_TRY(auto batch, loader_->peek_within(timeout, timed_out));
  if (timed_out) return batch;
  ended_ = !batch;
  if (batch && batch->epoch() <= number) return batch;
  LoaderAccess::end_epoch(*loader_);
  return std::optional<Batch>{};
}

}  // namespace forebay
