// SPDX-License-Identifier: Apache-2.0
#include <forebay/traffic.h>

#include <algorithm>
#include <array>
#include <mutex>

#include <fmt/core.h>

namespace forebay {

namespace {

/// A whole number of a RequestStats that is summed over a run.
struct Summed {
  std::string_view name;
  std::int64_t RequestStats::*member;
};
constexpr std::array<Summed, 11> summed{{{"finds", &RequestStats::finds},
                                         {"reads", &RequestStats::reads},
                                         {"bytes_used", &RequestStats::bytes_used},
                                         {"bytes_cached", &RequestStats::bytes_cached},
                                         {"bytes_fetched", &RequestStats::bytes_fetched},
                                         {"refused", &RequestStats::refused},
                                         {"failed", &RequestStats::failed},
                                         {"broken", &RequestStats::broken},
                                         {"stalled", &RequestStats::stalled},
                                         {"hedges", &RequestStats::hedges},
                                         {"hedges_won", &RequestStats::hedges_won}}};

}  // namespace

struct Traffic::Counters {
  mutable std::mutex mutex;
  RequestStats counts;
  std::string last_trouble;
};

Traffic::Traffic() : counters_{std::make_unique<Counters>()} {}

Traffic::~Traffic() = default;

void Traffic::asked() {
  const std::lock_guard lock{counters_->mutex};
  ++counters_->counts.reads;
}

void Traffic::cached(std::int64_t bytes) {
  const std::lock_guard lock{counters_->mutex};
  counters_->counts.bytes_cached += bytes;
}

void Traffic::fetched(std::int64_t bytes) {
  const std::lock_guard lock{counters_->mutex};
  counters_->counts.bytes_fetched += bytes;
}

void Traffic::tried(Trouble trouble, const std::string& why) {
  const std::lock_guard lock{counters_->mutex};
  RequestStats& counts = counters_->counts;
  const std::array<std::int64_t*, 4> of{&counts.refused, &counts.failed, &counts.broken, &counts.stalled};
  ++*of[static_cast<std::size_t>(trouble)];
  counters_->last_trouble = why;
}

void Traffic::hedged() {
  const std::lock_guard lock{counters_->mutex};
  ++counters_->counts.hedges;
}

void Traffic::hedge_won() {
  const std::lock_guard lock{counters_->mutex};
  ++counters_->counts.hedges_won;
}

void Traffic::throttled(double seconds) {
  const std::lock_guard lock{counters_->mutex};
  counters_->counts.throttled_seconds += seconds;
}

void Traffic::add_to(RequestStats& out) const {
  const std::lock_guard lock{counters_->mutex};
  out.add(counters_->counts);
}

std::string Traffic::last_trouble() const {
  const std::lock_guard lock{counters_->mutex};
  return counters_->last_trouble;
}

void RequestStats::add(const RequestStats& other) {
  in_flight += other.in_flight;
  waiting += other.waiting;
  for (const Summed& count : summed) this->*count.member += other.*count.member;
  throttled_seconds += other.throttled_seconds;
}

std::vector<std::pair<std::string_view, double>> RequestStats::named() const {
  std::vector<std::pair<std::string_view, double>> out;
  for (const Summed& count : summed) out.emplace_back(count.name, static_cast<double>(this->*count.member));
  out.emplace_back("throttled_seconds", throttled_seconds);
  return out;
}

std::string RequestStats::text() const {
  if (finds + reads + bytes_cached == 0) return {};
  constexpr double megabyte = 1e6;
  std::string out = fmt::format("{} for versions, {} for ranges of {:.1f} MB", finds, reads,
                                static_cast<double>(bytes_used) / megabyte);
  if (bytes_cached > 0) out += fmt::format(", {:.1f} MB from the cache", static_cast<double>(bytes_cached) / megabyte);
  if (bytes_fetched > 0) out += fmt::format(", {:.1f} MB fetched", static_cast<double>(bytes_fetched) / megabyte);
  if (refused + failed + broken + stalled > 0)
    out += fmt::format("; tries without success: {} put off, {} faults of servers, {} broken, {} stalled", refused,
                       failed, broken, stalled);
  if (hedges > 0) out += fmt::format("; {} asked for twice, {} of them with success", hedges, hedges_won);
  if (throttled_seconds > 0) out += fmt::format("; {:.1f} s throttled", throttled_seconds);
  return out;
}

std::string RequestStats::clause(double seconds) const {
  if (reads == 0 || seconds <= 0) return {};
  const std::int64_t without = refused + failed + broken + stalled;
  std::string out =
      fmt::format(" Files of other machines gave {:.1f} MB/s",
                  static_cast<double>(std::max(bytes_used - bytes_cached, bytes_fetched)) / seconds * 1e-6);
  if (without > 0)
    out += fmt::format(", {:.0f} % of the tries without success",
                       100. * static_cast<double>(without) / static_cast<double>(reads + without));
  if (throttled_seconds > 0) out += fmt::format(", {:.1f} s throttled by their hosts", throttled_seconds);
  return out + ".";
}

}  // namespace forebay
