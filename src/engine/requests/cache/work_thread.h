// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "engine/memory/catch_all.h"
#include "engine/memory/sync.h"

namespace forebay::engine {

/// A thread that does pieces of work one after the other.
///
/// The destructor leaves out what has not begun within a while. It may run on the thread itself, in the work that drops
/// the last owner. Thread-safe.
class WorkThread {
 public:
  using Work = std::function<void()>;
  WorkThread() : shared_{std::make_shared<Shared>()}, thread_{[shared = shared_] { run(*shared); }} {}
  ~WorkThread() {
    {
      const Lock lock{shared_->mutex};
      shared_->ends = std::chrono::steady_clock::now() + time_to_end;
      shared_->some.notify_all();
    }
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  void add(Work work) {
    const Lock lock{shared_->mutex};
    shared_->work.push_back(std::move(work));
    shared_->some.notify_one();
  }
  /// Does the work in `time` from now, before all that was added then and has not begun.
  void add_later(Work work, std::chrono::steady_clock::duration time) {
    const Lock lock{shared_->mutex};
    shared_->later.emplace(std::chrono::steady_clock::now() + time, std::move(work));
    shared_->some.notify_one();
  }

 private:
  static constexpr std::chrono::milliseconds time_to_end{50};
  struct Shared {
    Mutex mutex;
    Condition some;
    std::deque<Work> work GUARDED_BY(mutex);
    std::multimap<std::chrono::steady_clock::time_point, Work> later GUARDED_BY(mutex);
    std::chrono::steady_clock::time_point ends GUARDED_BY(mutex) = std::chrono::steady_clock::time_point::max();

    /// Waits for work; empty: the thread ends.
    [[nodiscard]] Work next() EXCLUDES(mutex) {
      const Lock lock{mutex};
      while (true) {
        const auto now = std::chrono::steady_clock::now();
        if (now > ends) return {};
        if (!later.empty() && later.begin()->first <= now) return std::move(later.extract(later.begin()).mapped());
        if (!work.empty()) break;
        if (ends != std::chrono::steady_clock::time_point::max()) return {};
        if (later.empty()) {
          some.wait(mutex);
        } else {
          static_cast<void>(some.wait_until(mutex, later.begin()->first));
        }
      }
      Work out = std::move(work.front());
      work.pop_front();
      return out;
    }
  };
  static void run(Shared& shared) {
    while (const Work work = shared.next()) static_cast<void>(catch_all(work));
  }

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace forebay::engine
