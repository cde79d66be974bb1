// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <forebay/file_system.h>

#include "io/file.h"

namespace forebay::tests {

/// Local files as `slow://PATH`: each request takes a fixed time, a limited number is served at once, and nothing can
/// be mapped. Requests beyond the limit wait for their turn. Tests change the behaviour between two runs.
class SlowFiles final : public FileSystem {
 public:
  struct Behaviour {
    std::chrono::microseconds latency{0};
    std::size_t at_once = 16;
    /// Asked before each read; an error is the answer.
    std::function<Result<void>(const ReadRequest&)> fault = {};
    std::function<void()> finds = {};  ///< Called before each search for a version.
    std::size_t max_bytes = SIZE_MAX;  ///< Of one answer.
    bool never = false;                ///< No request is answered until `behave` is called again.
  };

  /// The file system of the scheme, made by the first call. It lives as long as the process.
  static SlowFiles& get() {
    static const auto system = [] {
      auto made = std::make_shared<SlowFiles>();
      static_cast<void>(add_file_system("slow", made));
      return made;
    }();
    return *system;
  }
  static std::string path(const std::string& local) { return "slow://" + local; }

  /// The present version of a local file, as `find` answers: without a time, which need not tell versions apart.
  static io::File::Identity version(const std::string& local) {
    const auto identity = io::File::identity_at(local);
    const FileVersion found = identity.ok() ? version_of(*identity) : FileVersion{};
    return {.size = found.size, .version = found.version};
  }

  SlowFiles() : clock_{[this] { serve(); }} {}
  ~SlowFiles() override {
    {
      const std::lock_guard lock{mutex_};
      over_ = true;
    }
    changed_.notify_all();
    clock_.join();
  }

  /// Returns when no function of the former behaviour runs any more, so what these refer to may go. A loader that was
  /// closed leaves requests behind, and these ask the behaviour when their turn comes.
  void behave(Behaviour behaviour) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return !begins_; });
    behaviour_ = std::move(behaviour);
    max_served_ = 0;
    reads_ = 0;
    changed_.notify_all();
  }
  /// The most requests that were served at once, and the reads, since `behave`.
  [[nodiscard]] std::size_t max_served() {
    const std::lock_guard lock{mutex_};
    return max_served_;
  }
  [[nodiscard]] std::size_t reads() {
    const std::lock_guard lock{mutex_};
    return reads_;
  }
  /// Waits until `count` requests wait for an answer.
  void wait_for(std::size_t count) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return served_.size() + waiting_.size() >= count; });
  }

  void find(const std::string& path, Found found) override {
    enter([this, path, found = std::move(found)] {
      std::function<void()> finds;
      {
        const std::lock_guard lock{mutex_};
        finds = behaviour_.finds;
      }
      if (finds) finds();
      const auto identity = io::File::identity_at(local(path));
      return
          [found, out = identity.ok() ? Result<FileVersion>{version_of(*identity)} : identity.error()] { found(out); };
    });
  }

  [[nodiscard]] bool lists() const override { return true; }
  void list(const std::string& folder, bool deep, Listed listed) override {
    std::vector<ListedFile> out;
    std::error_code missing;
    for (std::filesystem::recursive_directory_iterator at{local(folder), missing}, end; at != end; ++at) {
      if (at->is_regular_file()) {
        const auto identity = io::File::identity_at(at->path().string());
        out.push_back({.path = path(at->path().string()), .version = {}});
        if (identity.ok()) out.back().version = version_of(*identity);
      }
      if (!deep) at.disable_recursion_pending();
    }
    listed(std::move(out));
  }

  void read(ReadRequest request, Answer answer) override {
    {
      const std::lock_guard lock{mutex_};
      ++reads_;
    }
    enter([this, request = std::move(request), answer = std::move(answer)] {
      return [answer, out = read_now(request)] { answer(out); };
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  static std::string local(const std::string& path) { return path.substr(std::string{"slow://"}.size()); }

  static FileVersion version_of(const io::File::Identity& identity) {
    return {.size = identity.size, .version = static_cast<std::uint64_t>(identity.changed_ns) ^ identity.inode};
  }

  Result<std::size_t> read_now(const ReadRequest& request) {
    Behaviour now;
    {
      const std::lock_guard lock{mutex_};
      now = behaviour_;
    }
    if (now.fault) FOREBAY_DO(now.fault(request));
    FOREBAY_TRY(const io::File file, io::File::open(local(request.path)));
    if (version_of(file.identity()).version != request.version.version)
      return Error{Code::data, Detail::failed_precondition,
                   "the file changed while it was read: its version is another"};
    return file.read(request.out.first(std::min(request.out.size(), now.max_bytes)), request.offset);
  }

  using Begin = std::function<std::function<void()>()>;  // does the work, and returns what gives the answer

  void enter(Begin begin) {
    const std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(begin));
    changed_.notify_all();
  }

  /// Begins requests while fewer than `at_once` are served, and gives each answer when its time has come.
  void serve() {
    std::unique_lock lock{mutex_};
    while (!over_) {
      if (!behaviour_.never && !waiting_.empty() && served_.size() < behaviour_.at_once) {
        const auto due = Clock::now() + behaviour_.latency;
        const Begin begin = std::move(waiting_.front());
        waiting_.pop_front();
        begins_ = true;
        lock.unlock();
        auto answer = begin();
        lock.lock();
        begins_ = false;
        changed_.notify_all();
        served_.emplace(due, std::move(answer));
        max_served_ = std::max(max_served_, served_.size());
      } else if (served_.empty()) {
        changed_.wait(lock);
      } else if (const auto due = served_.begin()->first; due > Clock::now()) {
        changed_.wait_until(lock, due);
      } else {
        const auto answer = std::move(served_.begin()->second);
        served_.erase(served_.begin());
        lock.unlock();
        answer();
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Behaviour behaviour_;
  std::deque<Begin> waiting_;
  std::multimap<Clock::time_point, std::function<void()>> served_;  // by the time of their answer
  std::size_t max_served_ = 0;
  std::size_t reads_ = 0;
  bool begins_ = false;  // the clock's thread begins a request, outside the lock
  bool over_ = false;
  std::thread clock_;
};

}  // namespace forebay::tests
