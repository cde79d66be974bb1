// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace forebay::stores::http {

using Clock = std::chrono::steady_clock;

/// The last values of a quantity.
class Recent {
 public:
  void add(double value);
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double quantile(double share) const;  ///< 0 without values.
  [[nodiscard]] double sum() const;

 private:
  static constexpr std::size_t kept = 200;
  std::array<double, kept> values_{};
  std::size_t count_ = 0, next_ = 0;
};

/// How many requests one host gets at once, and when one of them is asked a second time.
///
/// Connections grow by one every 250 ms while all are used, and are halved when the host asks for less (429, 503):
/// additive increase and multiplicative decrease, as TCP shares a link (Chiu and Jain, "Analysis of the Increase and
/// Decrease Algorithms for Congestion Avoidance in Computer Networks", Comput. Netw. ISDN Syst. 17, 1989). A second
/// request for the same bytes after an unusually long wait is a hedge (Dean and Barroso, "The Tail at Scale", CACM 56,
/// 2013).
///
/// It has no clock of its own.
class Host {
 public:
  explicit Host(std::int64_t max_connections);

  [[nodiscard]] bool may_begin() const;
  void began(Clock::time_point now, bool hedge);
  /// One that `began` at that time has ended. `slower`: the host asked for fewer requests. `fault`: it did not serve
  /// it.
  void ended(Clock::time_point began, Clock::time_point now, bool fault, bool slower);
  /// What a request that was served took until its first byte, and its bytes a second.
  void served(double seconds, double rate);

  /// A request without a byte after so long is asked a second time. None: too many were, of late.
  [[nodiscard]] std::optional<double> hedge_after() const;
  /// One below this rate, in bytes a second, too.
  [[nodiscard]] double slow_rate() const;
  /// More than half of the last answers are faults: the host is out of order, and not this request.
  [[nodiscard]] bool out_of_order() const;
  [[nodiscard]] bool is_throttled() const { return limit_ < throttled_below_; }  ///< It has asked for fewer requests.
  [[nodiscard]] std::int64_t connections() const;                                ///< At most, now.

 private:
  const double max_;
  double limit_;
  double throttled_below_ = 0;
  std::int64_t active_ = 0;
  std::int64_t requests_ = 0, hedges_ = 0;
  bool used_up_ = false;  // since the last growth
  Clock::time_point grown_{}, halved_{};
  Recent first_bytes_, rates_, faults_;
};

}  // namespace forebay::stores::http
