// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "stores/http/call.h"
#include "stores/http/host.h"
#include "stores/http/transfers.h"

namespace forebay::stores::http {

/// A call and what became of it so far. Of the thread that makes its attempts; while it waits, of the queue.
struct Job {
  std::unique_ptr<Call> call;  ///< Null: over.
  Clock::time_point since;     ///< Of the beginning, or of the last progress.
  std::int64_t tries = 0;      ///< That failed since then.
  std::int64_t attempts = 0;   ///< Under way now: one, or two with a hedge.
  Clock::time_point queued;    ///< Since when it has waited for its host.
  bool hedged = false;
  bool fresh = false;  ///< On a new connection: something was wrong with the last one.
};

/// The jobs that wait for their turn, by host. Thread-safe.
class JobQueue {
 public:
  explicit JobQueue(std::int64_t max_connections) : max_connections_{max_connections} {}
  /// Waits until `at`, and then for its host.
  void add(std::shared_ptr<Job> job, Clock::time_point at);
  /// A job whose turn it is, which counts as begun. Null: none.
  [[nodiscard]] std::shared_ptr<Job> next(Clock::time_point now);
  /// When the first of the jobs that wait for a time may begin. None: there are none.
  [[nodiscard]] std::optional<Clock::time_point> next_time();
  /// Those that nobody wants any more.
  [[nodiscard]] std::vector<std::shared_ptr<Job>> unwanted();
  [[nodiscard]] std::vector<std::shared_ptr<Job>> take_all();

  /// Whether an attempt for that call may have a hedge, which counts as begun then. `seconds`: its age; `rate`: its
  /// bytes a second; `silent`: no byte came yet.
  [[nodiscard]] bool hedge(const Call& call, double seconds, double rate, bool silent, Clock::time_point now);
  void ended(const Call& call, Clock::time_point began, Clock::time_point now, bool fault, bool slower);
  void served(const Call& call, double seconds, double rate);
  [[nodiscard]] bool out_of_order(const Call& call);

 private:
  struct Waiting {
    Host host;
    std::deque<std::shared_ptr<Job>> jobs;
  };
  [[nodiscard]] Waiting& at(const Call& call);

  const std::int64_t max_connections_;
  std::mutex mutex_;
  std::map<std::string, Waiting> hosts_;
  std::multimap<Clock::time_point, std::shared_ptr<Job>> later_;
};

}  // namespace forebay::stores::http
