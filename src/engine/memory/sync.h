// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Annotations for clang's thread-safety analysis; empty for other compilers.
#if defined(__clang__)
#define FOREBAY_ANNOTATE(x) __attribute__((x))
#else
#define FOREBAY_ANNOTATE(x)
#endif
#define GUARDED_BY(x) FOREBAY_ANNOTATE(guarded_by(x))
#define REQUIRES(...) FOREBAY_ANNOTATE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) FOREBAY_ANNOTATE(locks_excluded(__VA_ARGS__))

namespace forebay::engine {

/// A mutex that spins for about a microsecond before the thread sleeps. The critical sections of the engine are shorter
/// than that, and waking a thread costs several microseconds.
class FOREBAY_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() FOREBAY_ANNOTATE(acquire_capability()) {
    for (int tries = 0; tries < tries_before_sleep; ++tries) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }
  void unlock() FOREBAY_ANNOTATE(release_capability()) { mutex_.unlock(); }

 private:
  static constexpr int tries_before_sleep = 50;
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  friend class Condition;
  std::mutex mutex_;
};

/// Locks a mutex for the lifetime of the object.
class FOREBAY_ANNOTATE(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) FOREBAY_ANNOTATE(acquire_capability(mutex)) : mutex_{mutex} { mutex_.lock(); }
  ~Lock() FOREBAY_ANNOTATE(release_capability()) { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

/// A condition variable. `wait` is called in a loop that checks the condition, with the mutex locked.
class Condition {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> held{mutex.mutex_, std::adopt_lock};
    condition_.wait(held);
    held.release();
  }
  /// Returns false when the deadline has passed.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline) REQUIRES(mutex) {
    std::unique_lock<std::mutex> held{mutex.mutex_, std::adopt_lock};
    const bool in_time = condition_.wait_until(held, deadline) == std::cv_status::no_timeout;
    held.release();
    return in_time;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace forebay::engine
