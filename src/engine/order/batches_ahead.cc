// SPDX-License-Identifier: Apache-2.0
#include "engine/order/batches_ahead.h"

#include <algorithm>
#include <utility>

namespace forebay::engine {

namespace {

constexpr std::size_t max_ahead = 64;                          // batches
constexpr std::int64_t max_bytes = std::int64_t{256} << 20;    // that may be asked for ahead
constexpr std::int64_t share_of_bytes = 8, share_of_room = 4;  // of the budget

}  // namespace

bool BatchesAhead::wants_more() const {
  if (over_ || fault_) return false;
  if (ahead_.empty()) return true;
  const bool few = bytes_ > 0 && bytes_ < std::min(max_bytes, pool_->limit() / share_of_bytes);
  return few && ahead_.size() < max_ahead && !pool_->over(pool_->limit() / share_of_room);
}

void BatchesAhead::push() {
  Ahead& last = ahead_.emplace_back();
  std::swap(last.layout, deciding_);
  last.expected = expect_(last.layout.handles);
  bytes_ += last.expected.bytes;
}

Result<bool> BatchesAhead::next(BatchLayout& layout) {
  for (Ahead& batch : ahead_)
    if (!batch.expected.asked) batch.expected.asked = expect_(batch.layout.handles).asked;
  while (wants_more()) {
    const auto more = decide_(deciding_);
    if (more.ok() && *more) {
      push();
    } else if (more.ok()) {
      over_ = true;
    } else if (!parts_.interrupted(more.error())) {
      fault_ = more.error();
    } else if (ahead_.empty()) {
      return more.error();
    } else {
      break;
    }
  }
  if (ahead_.empty() && fault_) return *std::exchange(fault_, std::nullopt);
  if (ahead_.empty()) return false;
  bytes_ -= ahead_.front().expected.bytes;
  std::swap(layout, ahead_.front().layout);
  ahead_.pop_front();
  return true;
}

void BatchesAhead::account() {
  deciding_.account(*pool_);
  for (Ahead& batch : ahead_) batch.layout.account(*pool_);
}

}  // namespace forebay::engine
