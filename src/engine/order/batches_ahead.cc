// SPDX-License-Identifier: Apache-2.0
#include "engine/order/batches_ahead.h"

#include <utility>

namespace forebay::engine {

namespace {

constexpr std::size_t max_ahead = 64;  // batches

}  // namespace

bool BatchesAhead::wants_more() const {
  if (over_ || fault_) return false;
  return ahead_.empty() || (bytes_ > 0 && bytes_ < limit_ && ahead_.size() < max_ahead);
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

void BatchesAhead::account(BufferPool& pool) {
  deciding_.account(pool);
  for (Ahead& batch : ahead_) batch.layout.account(pool);
}

}  // namespace forebay::engine
