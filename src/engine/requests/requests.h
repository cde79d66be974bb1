// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <forebay/error.h>
#include <forebay/file_system.h>
#include <forebay/traffic.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/sync.h"
#include "engine/program/run_means.h"
#include "engine/requests/cache/run_cache.h"
#include "engine/requests/known_versions.h"
#include "engine/requests/request_window.h"
#include "io/file_system.h"

namespace forebay::engine {

/// One version of one file of a FileSystem.
struct RequestTarget {
  FileSystem* system = nullptr;
  std::string path;
  io::RandomAccessFile::Identity version;
  std::uint32_t file = 0;  ///< Its number in the source of a run.
  Keeping keeping = Keeping::none;
};

/// One answer that is awaited: a range of a file, or the version of the file and its first bytes. The reader that needs
/// it owns it; a request that has no owner any more is not begun. The members but `ready` may be read when `ready` is
/// true, by any thread.
class Request {
 public:
  enum class Kind : std::uint8_t { read, find };
  Request(std::shared_ptr<const RequestTarget> target, io::ByteRange range, Kind kind)
      : target_{std::move(target)}, range_{range}, kind_{kind} {}

  [[nodiscard]] bool ready() const { return ready_.load(std::memory_order_acquire); }
  [[nodiscard]] const io::ByteRange& range() const { return range_; }
  /// The bytes that came, from the beginning of the range: all, unless there is an error. Of `find`, some of them.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), got_}; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] const io::RandomAccessFile::Identity& version() const { return found_; }  ///< Of `find`.

 private:
  friend class Requests;
  const std::shared_ptr<const RequestTarget> target_;
  const io::ByteRange range_;  // of `find`: the first bytes
  const Kind kind_;
  std::shared_ptr<const RangeUse> use_;  // null: it does not go through a cache
  std::chrono::steady_clock::time_point began_;
  std::shared_ptr<std::byte> memory_;
  std::size_t got_ = 0;
  std::int64_t last_ = 0;  // bytes of the last answer
  io::RandomAccessFile::Identity found_;
  std::optional<Error> error_;
  std::uint64_t number_ = 0;  // among those that began, of the run
  std::atomic<bool> ready_{false};
};

/// The requests of a run to file systems: how many are in flight, and how many bytes are asked for ahead.
///
///     ask ─► queue ─► in flight: at most `max_requests`, in memory of the pool ─► ready ─► wake
///              ▲                    │ fewer bytes came than were asked for
///              └────────────────────┘
///
/// The next request begins on the thread that answers the one before it, so the number in flight does not depend on
/// what the threads of the run do. After `stop` no request begins and `wake` is not called any more; the answers of
/// those in flight come into memory that they own.
///
/// Thread-safe. `wake` is called without a lock.
class Requests : public std::enable_shared_from_this<Requests> {
 public:
  /// `wake` is called from any thread after each answer.
  Requests(std::shared_ptr<BufferPool> pool, std::int64_t max_requests = usual_requests,
           std::function<void()> wake = {});
  /// Called before the first `wait`, which asks it about every 20 ms: false ends the wait.
  void ask_whether(std::function<bool()> go_on) { go_on_ = std::move(go_on); }

  /// Called before the first `find`: versions that are known are not asked for, and those that come are added.
  void know(std::shared_ptr<KnownVersions> known) { known_ = std::move(known); }

  /// Called before the first `ask`. Null: nothing is kept.
  void keep_in(std::shared_ptr<RunCache> cache) { cache_ = std::move(cache); }
  [[nodiscard]] const std::shared_ptr<RunCache>& cache() const { return cache_; }

  /// Asks for bytes of a file; `range` is not empty and lies inside it. `urgent`: before all that wait.
  [[nodiscard]] std::shared_ptr<Request> ask(std::shared_ptr<const RequestTarget> target, io::ByteRange range,
                                             bool urgent = false) EXCLUDES(mutex_);
  /// Asks for the present version of a file, unless it is known. With a version that was not known come as many of the
  /// first `first` bytes as one answer gives.
  [[nodiscard]] std::shared_ptr<Request> find(FileSystem& system, const std::string& path, std::int64_t first = 0)
      EXCLUDES(mutex_);
  /// Waits until the request is ready, or until the deadline. Throws Closed when the run is stopped, and when
  /// `ask_whether` says so.
  void wait(const Request& request, std::optional<std::chrono::steady_clock::time_point> deadline = {})
      EXCLUDES(mutex_);
  /// Called when the run ends. Returns when no thread is inside `wake`.
  void stop() EXCLUDES(mutex_);
  [[nodiscard]] std::int64_t max_requests() const { return window_->max_requests(); }
  [[nodiscard]] RequestStats counts() const EXCLUDES(mutex_);
  /// The request that is in flight for the longest time, and what file systems have met last, in words. Empty: none is.
  [[nodiscard]] std::string oldest() const EXCLUDES(mutex_);

  /// Limits the bytes that files read from beginning to end ask for ahead.
  [[nodiscard]] const std::shared_ptr<RequestWindow>& window() const { return window_; }

 private:
  void find_known(std::shared_ptr<Request> request, bool waited) EXCLUDES(mutex_);
  std::shared_ptr<Request> enter(std::shared_ptr<Request> request, bool urgent) EXCLUDES(mutex_);
  void begin_waiting() EXCLUDES(mutex_);
  [[nodiscard]] std::shared_ptr<Request> next() EXCLUDES(mutex_);
  void begin(const std::shared_ptr<Request>& request);
  void begin_read(const std::shared_ptr<Request>& request);
  void begin_find(const std::shared_ptr<Request>& request);
  void came(const std::shared_ptr<Request>& request, const Result<std::size_t>& count) EXCLUDES(mutex_);
  void answered(Request& request) EXCLUDES(mutex_);

  const std::shared_ptr<BufferPool> pool_;
  const std::shared_ptr<RequestWindow> window_;
  const std::function<void()> wake_;
  std::function<bool()> go_on_;
  std::shared_ptr<KnownVersions> known_;  // null: none
  std::shared_ptr<RunCache> cache_;       // null: none
  mutable Mutex mutex_;
  Condition answered_;
  std::deque<std::weak_ptr<Request>> waiting_ GUARDED_BY(mutex_);
  /// By the order in which they began.
  std::map<std::uint64_t, std::shared_ptr<const Request>> in_flight_ GUARDED_BY(mutex_);
  std::uint64_t begun_ GUARDED_BY(mutex_) = 0;
  RequestStats counts_ GUARDED_BY(mutex_);
  bool beginning_ GUARDED_BY(mutex_) = false;  // a thread is in `begin_waiting`: the others leave the queue to it
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::int64_t waking_ GUARDED_BY(mutex_) = 0;                                         // threads inside `wake_`
  std::shared_ptr<const void> running_ GUARDED_BY(mutex_) = std::make_shared<char>();  // until `stop`
  const std::weak_ptr<const void> wanted_ = running_;
  const std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
};

}  // namespace forebay::engine
