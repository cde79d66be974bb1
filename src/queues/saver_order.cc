// SPDX-License-Identifier: Apache-2.0
// The examples that a batch of a state saver takes. All functions are called with the mutex.
#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>

#include "queues/saver_core.h"

namespace forebay::queues {

namespace {

constexpr std::size_t max_keys_in_error = 8;

/// Of unique pointers to examples.
template <class Example>
std::int64_t index_of(const Example& example) {
  return example->index;
}

}  // namespace

std::int64_t SaverCore::ready() const {
  const auto lanes = std::ranges::count_if(lanes_, [](const Example& lane) { return lane != nullptr; });
  return std::ssize(fresh_) + std::ssize(continuing_) + lanes;
}

SaverCore::Next SaverCore::next(std::int64_t size) const {
  using Got = TakenSegments::Got;
  const std::int64_t found = ready();
  if (found >= size) return {Got::batch, size};
  if (!closed_) return {Got::nothing_yet};
  if (plan_.allow_small_batch) {
    if (found > 0) return {Got::batch, found};
    return {held_ > 0 ? Got::nothing_yet : Got::end};
  }
  return {found + held_ >= size ? Got::nothing_yet : Got::end};
}

SaverCore::Next SaverCore::next_sticky() const {
  using Got = TakenSegments::Got;
  if (held_ > 0) return {Got::nothing_yet};  // a row is in a batch, and its example goes on there
  const std::int64_t found = ready();
  const bool full = found >= plan_.batch_size;
  if (full || (closed_ && plan_.allow_small_batch && found > 0)) return {Got::batch, plan_.batch_size};
  return {closed_ ? Got::end : Got::nothing_yet};
}

/// The ready examples with the smallest indices, in order. Examples that have begun are older than fresh ones.
SaverCore::Rows SaverCore::pick(std::int64_t rows) {
  Rows out;
  out.reserve(static_cast<std::size_t>(rows));
  while (std::ssize(out) < rows && !continuing_.empty()) {
    std::ranges::pop_heap(continuing_, std::greater{}, index_of<Example>);
    out.push_back(std::move(continuing_.back()));
    continuing_.pop_back();
  }
  while (std::ssize(out) < rows) {
    out.push_back(std::move(fresh_.front()));
    fresh_.pop_front();
  }
  return out;
}

/// The examples of all rows; rows without one take fresh examples.
SaverCore::Rows SaverCore::pick_sticky() {
  Rows out{lanes_.size()};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = std::move(lanes_[i]);
    if (out[i] || fresh_.empty()) continue;
    out[i] = std::move(fresh_.front());
    fresh_.pop_front();
  }
  return out;
}

/// Undoes `pick`. `dropped`: the saver had been cancelled before.
void SaverCore::put_back(Rows rows, bool dropped) {
  for (std::size_t i = rows.size(); i-- > 0;) {
    if (!rows[i]) continue;
    if (cancelled_ && !dropped) {  // `cancel` has not counted it
      ++undelivered_;
      ++live_;
    }
    if (rows[i]->next == 0) {
      fresh_.push_front(std::move(rows[i]));
    } else if (plan_.sticky_rows) {
      lanes_[i] = std::move(rows[i]);
    } else {
      continuing_.push_back(std::move(rows[i]));
      std::ranges::push_heap(continuing_, std::greater{}, index_of<Example>);
    }
  }
  changed_.notify_all();
}

std::optional<Error> SaverCore::overdue(Time since) const {
  if (plan_.save_timeout.count() <= 0 || (held_ == 0 && stuck_.empty())) return std::nullopt;
  if (std::chrono::steady_clock::now() - std::max(since, progress_) < plan_.save_timeout) return std::nullopt;
  std::vector<std::string> held, gone, states;
  for (const SegmentBatch::Content* batch : out_) {
    for (const Example& row : batch->rows) {
      if (row) held.push_back(quote(*row->key));
    }
    for (std::size_t i = 0; held.size() > 0 && states.empty() && i < batch->saved.size(); ++i) {
      if (batch->saved[i] == SegmentBatch::Content::Saved::no) states.push_back(quote(plan_.states[i].name));
    }
  }
  for (const Stuck& stuck : stuck_) gone.push_back(quote(*stuck.key));
  const auto few = [](std::vector<std::string> names) {
    const std::size_t count = names.size();
    if (count > max_keys_in_error) names.resize(max_keys_in_error);
    return fmt::format("{}{}", fmt::join(names, ", "),
                       count > max_keys_in_error ? fmt::format(" and {} more", count - max_keys_in_error) : "");
  };
  std::string text = fmt::format("no batch in {} ms: {} segments are ready", plan_.save_timeout.count(), ready());
  if (!held.empty())
    text += fmt::format("; a batch has the examples {}, and its states {} are not saved", few(held), few(states));
  if (!gone.empty())
    text += fmt::format("; the batches of {} are gone, and not all of their states were saved", few(gone));
  text += "; call save_state for every state of every batch, or set a longer save_timeout";
  return Error{Code::state, Detail::failed_precondition, std::move(text)};
}

}  // namespace forebay::queues
