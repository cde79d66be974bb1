// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/request_window.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace forebay::engine {

namespace {

// Bytes of one request of a sequential read. A store gives one connection about 85 MB/s, and each request waits for 30
// to 100 ms first: ranges as large as the budget allows keep that wait a small part.
constexpr std::int64_t max_range = std::int64_t{8} << 20;
constexpr std::int64_t usual_range = std::int64_t{256} << 10;  // with the smallest budgets
constexpr std::int64_t min_range = std::int64_t{64} << 10;     // where many files share a window
constexpr std::int64_t max_window = std::int64_t{512} << 20;   // bytes that sequential reads ask for ahead
constexpr std::int64_t tool_window = std::int64_t{128} << 20;  // the same without a limit of memory

/// Three requests of the largest size for each one in flight are enough.
std::int64_t window_of(std::int64_t limit, std::int64_t max_requests) {
  if (limit == std::numeric_limits<std::int64_t>::max()) return std::min(tool_window, 3 * max_requests * max_range);
  return std::max(min_range, std::min({limit / 4, max_window, 3 * max_requests * max_range}));
}

}  // namespace

RequestWindow::RequestWindow(std::shared_ptr<BufferPool> pool, std::int64_t max_requests)
    : pool_{std::move(pool)},
      max_requests_{std::max<std::int64_t>(1, max_requests)},
      bytes_{window_of(pool_->limit(), max_requests_)},
      range_{std::clamp(bytes_ / (2 * max_requests_), usual_range, max_range)} {}

void RequestWindow::close() {
  const Lock lock{mutex_};
  closed_ = true;
}

RequestWindow::Share::~Share() {
  const Lock lock{window_->mutex_};
  if (needed_) {
    --window_->needed_;
  } else {
    window_->ahead_ -= held_;
  }
}

void RequestWindow::Share::need() {
  const Lock lock{window_->mutex_};
  if (std::exchange(needed_, true)) return;
  ++window_->needed_;
  window_->ahead_ -= held_;
}

bool RequestWindow::Share::may_grant() const {
  const Lock lock{window_->mutex_};
  return window_->grant(*this) > 0;
}

std::int64_t RequestWindow::Share::grant() {
  const Lock lock{window_->mutex_};
  const std::int64_t bytes = window_->grant(*this);
  hold(bytes);
  return bytes;
}

bool RequestWindow::Share::may_take(std::int64_t bytes) const {
  const Lock lock{window_->mutex_};
  return window_->fits(*this, bytes);
}

bool RequestWindow::Share::take(std::int64_t bytes) {
  const Lock lock{window_->mutex_};
  if (!window_->fits(*this, bytes)) return false;
  hold(bytes);
  return true;
}

void RequestWindow::Share::give_back(std::int64_t bytes) {
  const Lock lock{window_->mutex_};
  hold(-bytes);
}

void RequestWindow::Share::hold(std::int64_t bytes) {
  held_ += bytes;
  if (!needed_) window_->ahead_ += bytes;
}

/// The bytes that may be asked for ahead: by a share that is needed, or by all that are not.
std::int64_t RequestWindow::bytes_for(const Share& share) const {
  const std::int64_t all = bytes_ / 3 * (share.needed_ ? 2 : 1);
  return share.needed_ ? all / std::max<std::int64_t>(1, needed_) : all;
}

bool RequestWindow::fits(const Share& share, std::int64_t bytes) const {
  if (closed_) return false;
  if (share.needed_ && share.held_ == 0) return true;
  const std::int64_t held = share.needed_ ? share.held_ : ahead_;
  return held + bytes <= bytes_for(share) && !pool_->over(bytes);
}

std::int64_t RequestWindow::grant(const Share& share) const {
  const std::int64_t range = std::clamp(bytes_for(share) / 2, min_range, range_);
  return fits(share, range) ? range : 0;
}

}  // namespace forebay::engine
