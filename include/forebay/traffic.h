// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay {

/// The requests of a run for files of other machines, and what became of them.
struct RequestStats {
  std::int64_t in_flight = 0;     ///< Now.
  std::int64_t waiting = 0;       ///< For their turn, now.
  std::int64_t finds = 0;         ///< For versions of files.
  std::int64_t reads = 0;         ///< For ranges of bytes; another one for what is missing of a range.
  std::int64_t bytes_used = 0;    ///< Of these ranges, and of the cache.
  std::int64_t bytes_cached = 0;  ///< From the cache on a local disk, instead.
  // What reads http, https and s3 says more:
  std::int64_t bytes_fetched = 0;  ///< With those that came twice or for nothing.
  std::int64_t refused = 0;        ///< Tries that a host has put off: 429 and 503.
  std::int64_t failed = 0;         ///< Other answers that are faults of a server.
  std::int64_t broken = 0;         ///< Connections that could not be made, or broke.
  std::int64_t stalled = 0;        ///< Connections that gave next to nothing for ten seconds.
  std::int64_t hedges = 0;         ///< Ranges that were asked for a second time.
  std::int64_t hedges_won = 0;     ///< Of these, those whose second answer came first.
  double throttled_seconds = 0;    ///< In which requests waited because their host had asked for fewer; summed.
  void add(const RequestStats& other);
  /// Each member but those that are about now, with its name.
  [[nodiscard]] std::vector<std::pair<std::string_view, double>> named() const;
  [[nodiscard]] std::string text() const;  ///< In a line; empty without requests.
  /// For Stats::bottleneck: how fast bytes came, and what kept them. Empty without requests.
  [[nodiscard]] std::string clause(double seconds) const;
};

/// Counts for a RequestStats what only a FileSystem knows. Thread-safe.
class Traffic {
 public:
  enum class Trouble : std::uint8_t { refused, failed, broken, stalled };
  Traffic();
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  void asked();                     ///< For a range that a cache lacks.
  void cached(std::int64_t bytes);  ///< From a cache.
  void fetched(std::int64_t bytes);
  void tried(Trouble trouble, const std::string& why);  ///< Without success; `why` names host and fault.
  void hedged();
  void hedge_won();
  void throttled(double seconds);

  void add_to(RequestStats& out) const;
  [[nodiscard]] std::string last_trouble() const;  ///< Empty: there was none.

 private:
  struct Counters;
  const std::unique_ptr<Counters> counters_;
};

}  // namespace forebay
