// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/each_file.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "engine/memory/machine.h"
#include "engine/memory/sync.h"

namespace forebay::engine {
namespace {

/// The threads of one call of `each_file`. The destructor requests a stop and joins them.
class FileWorkers {
 public:
  FileWorkers(const FileWork& wanted, const std::function<void(std::size_t, const std::stop_token&)>& work)
      : files_{wanted.files}, work_{work} {
    const std::int64_t max = wanted.threads > 0 ? wanted.threads : std::min(usable_processors(), threads_allowed);
    const std::size_t threads = std::min(static_cast<std::size_t>(max), files_);
    threads_.reserve(threads);
    try {
      for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
    } catch (const std::exception&) {}  // no more threads: the started ones do the work
  }
  ~FileWorkers() { stop_.request_stop(); }
  FileWorkers(const FileWorkers&) = delete;
  FileWorkers& operator=(const FileWorkers&) = delete;

  /// Waits until all files are done or the deadline has passed. Without threads, works on one file first.
  void wait_until(std::chrono::steady_clock::time_point deadline) EXCLUDES(mutex_) {
    if (threads_.empty()) run_next();
    const Lock lock{mutex_};
    while (!threads_.empty() && done_ < files_ && changed_.wait_until(mutex_, deadline)) {}
  }
  [[nodiscard]] bool all_done() EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    return done_ == files_;
  }

 private:
  void run() EXCLUDES(mutex_) {
    while (!stop_.stop_requested() && run_next()) {}
  }

  /// Works on the next file. False: no file is left.
  bool run_next() EXCLUDES(mutex_) {
    const std::size_t file = next_.fetch_add(1);
    if (file >= files_) return false;
    work_(file, stop_.get_token());
    const Lock lock{mutex_};
    if (++done_ == files_) changed_.notify_one();
    return true;
  }

  const std::size_t files_;
  const std::function<void(std::size_t, const std::stop_token&)>& work_;
  std::stop_source stop_;
  std::atomic<std::size_t> next_{0};
  Mutex mutex_;
  Condition changed_;
  std::size_t done_ GUARDED_BY(mutex_) = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace

bool each_file(const FileWork& wanted, const std::function<void(std::size_t file, const std::stop_token& stop)>& work,
               const std::function<bool()>& go_on) {
  if (!go_on()) return false;
  FileWorkers workers{wanted, work};
  while (true) {
    workers.wait_until(std::chrono::steady_clock::now() + wanted.period);
    const bool all = workers.all_done();
    const bool more = go_on();
    if (all || !more) return all;
  }
}

}  // namespace forebay::engine
