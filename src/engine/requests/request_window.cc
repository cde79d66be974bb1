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
constexpr std::int64_t max_likely = std::int64_t{1} << 20;     // bytes of a whole file that is asked for unseen
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
      range_{std::clamp(bytes_ / max_requests_, usual_range, max_range)} {}

void RequestWindow::close() {
  const Lock lock{mutex_};
  closed_ = true;
}

void RequestWindow::saw(std::int64_t bytes) {
  const Lock lock{mutex_};
  largest_ = std::max(bytes, largest_ - largest_ / 16);
}

std::int64_t RequestWindow::likely() const {
  const Lock lock{mutex_};
  return largest_ > max_likely ? 0 : largest_ + largest_ / 8;
}

RequestWindow::Share::Share(std::shared_ptr<RequestWindow> window)
    : window_{std::move(window)}, number_{[this] {
        const Lock lock{window_->mutex_};
        return window_->shares_++;
      }()} {}

RequestWindow::Share::~Share() {
  const Lock lock{window_->mutex_};
  window_->asking_.erase(number_);
  if (needed_) {
    --window_->needed_;
    window_->ended_ -= ends_ ? 1 : 0;
    window_->held_ -= held_;
  } else {
    window_->ahead_ -= held_;
  }
}

void RequestWindow::Share::need() {
  const Lock lock{window_->mutex_};
  if (std::exchange(needed_, true)) return;
  window_->asking_.erase(number_);
  ++window_->needed_;
  window_->ended_ += ends_ ? 1 : 0;
  window_->ahead_ -= held_;
  window_->held_ += held_;
}

void RequestWindow::Share::ends(bool all_asked) {
  const Lock lock{window_->mutex_};
  if (std::exchange(ends_, all_asked) == all_asked) return;
  if (all_asked) window_->asking_.erase(number_);
  if (needed_) window_->ended_ += all_asked ? 1 : -1;
}

bool RequestWindow::Share::may_grant() const {
  const Lock lock{window_->mutex_};
  return window_->grant(*this) > 0;
}

std::int64_t RequestWindow::Share::grant() {
  const Lock lock{window_->mutex_};
  if (!needed_ && !ends_) window_->asking_.insert(number_);
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
  (needed_ ? window_->held_ : window_->ahead_) += bytes;
}

/// The bytes that may be asked for ahead: by a share that is needed, or by all that are not.
std::int64_t RequestWindow::bytes_for(const Share& share) const {
  if (share.needed_) return bytes_ / 3 * 2 / std::max<std::int64_t>(1, needed_);
  return std::max(bytes_ / 3, needed_ > 0 && ended_ == needed_ ? bytes_ - held_ : 0);
}

bool RequestWindow::fits(const Share& share, std::int64_t bytes) const {
  if (closed_) return false;
  if (share.needed_ && share.held_ == 0) return true;
  const std::int64_t held = share.needed_ ? share.held_ : ahead_;
  return held + bytes <= bytes_for(share) && !pool_->over(bytes);
}

std::int64_t RequestWindow::grant(const Share& share) const {
  const std::int64_t side_by_side = std::max<std::int64_t>(1, needed_);
  if (!share.needed_) {
    std::int64_t before = 0;
    for (auto at = asking_.begin(); at != asking_.end() && *at < share.number_; ++at) {
      if (++before == side_by_side) return 0;
    }
    if (share.held_ > 0 && share.held_ >= bytes_for(share) / side_by_side) return 0;
  }
  const std::int64_t range = std::clamp(bytes_for(share) / 2, min_range, range_);
  return fits(share, range) ? range : 0;
}

}  // namespace forebay::engine
