// SPDX-License-Identifier: Apache-2.0
#include "stores/http/host.h"

#include <algorithm>
#include <cmath>

namespace forebay::stores::http {

namespace {

constexpr double at_first = 16;
constexpr std::chrono::milliseconds between_growths{250};
constexpr double max_hedges = .05;          // of the requests
constexpr double shortest_wait = 1;         // seconds
constexpr std::size_t enough_answers = 20;  // to judge by

}  // namespace

void Recent::add(double value) {
  values_[next_] = value;
  next_ = (next_ + 1) % kept;
  count_ = std::min(count_ + 1, kept);
}

double Recent::quantile(double share) const {
  if (count_ == 0) return 0;
  auto sorted = values_;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(count_ - 1));
  std::nth_element(sorted.begin(), at, sorted.begin() + static_cast<std::ptrdiff_t>(count_));
  return *at;
}

double Recent::sum() const {
  double out = 0;
  for (std::size_t i = 0; i < count_; ++i) out += values_[i];
  return out;
}

Host::Host(std::int64_t max_connections)
    : max_{static_cast<double>(std::max<std::int64_t>(1, max_connections))}, limit_{std::min(at_first, max_)} {}

std::int64_t Host::connections() const { return std::max<std::int64_t>(1, std::llround(std::floor(limit_))); }

bool Host::may_begin() const { return active_ < connections(); }

void Host::began(Clock::time_point now, bool hedge) {
  if (requests_ == 0) grown_ = now;
  ++active_;
  ++requests_;
  if (hedge) ++hedges_;
  used_up_ = used_up_ || !may_begin();
}

void Host::ended(Clock::time_point began, Clock::time_point now, bool fault, bool slower) {
  --active_;
  faults_.add(fault ? 1 : 0);
  if (slower && began >= halved_) {  // those that were under way then say nothing new
    throttled_below_ = std::max(throttled_below_, limit_);
    limit_ = std::max(1., limit_ / 2);
    halved_ = grown_ = now;
    used_up_ = false;
  } else if (!fault && used_up_ && now - grown_ >= between_growths) {
    limit_ = std::min(max_, limit_ + 1);
    grown_ = now;
    used_up_ = false;
  }
}

void Host::served(double seconds, double rate) {
  first_bytes_.add(seconds);
  rates_.add(rate);
}

std::optional<double> Host::hedge_after() const {
  if (first_bytes_.count() < enough_answers) return std::nullopt;
  if (static_cast<double>(hedges_ + 1) > max_hedges * static_cast<double>(requests_)) return std::nullopt;
  return std::max(shortest_wait, 2 * first_bytes_.quantile(.95));
}

double Host::slow_rate() const { return rates_.quantile(.5) / 8; }

bool Host::out_of_order() const {
  return faults_.count() >= enough_answers && faults_.sum() > .5 * static_cast<double>(faults_.count());
}

}  // namespace forebay::stores::http
