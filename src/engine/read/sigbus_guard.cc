// SPDX-License-Identifier: Apache-2.0
#include "engine/read/sigbus_guard.h"

#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "engine/memory/sync.h"

namespace forebay::engine {

namespace {

constexpr std::uintptr_t nowhere = ~std::uintptr_t{0};  // no address reaches it: an unused range holds nothing

}  // namespace

struct GuardedRange {
  std::atomic<std::uintptr_t> begin{nowhere};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> corrupt{false};

  [[nodiscard]] bool holds(std::uintptr_t address) const {
    const std::uintptr_t from = begin.load(std::memory_order_acquire);
    if (address < from || address >= end.load(std::memory_order_acquire)) return false;
    return begin.load(std::memory_order_acquire) == from;  // else `end` may be that of a later range
  }
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free, "used in a signal handler");
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "used in a signal handler");

namespace {

/// A chunk of ranges. Chunks are added and never freed, so that the handler reads the list without a lock.
struct Chunk {
  std::array<GuardedRange, 64> ranges;
  Chunk* older = nullptr;
};

std::atomic<Chunk*> newest{nullptr};
std::atomic<std::int64_t> replaced{0};
std::atomic<const struct sigaction*> previous{nullptr};  // of the process, before the handler here; never freed
std::atomic<pid_t> passing{0};                           // the thread that is inside that handler

/// The list of unused ranges. Thread-safe, but it locks: the signal handler never calls it.
class FreeRanges {
 public:
  [[nodiscard]] GuardedRange& take() EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    if (free_.empty()) add_chunk();
    GuardedRange& range = *free_.back();
    free_.pop_back();
    return range;
  }
  void give(GuardedRange& range) EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    free_.push_back(&range);  // never allocates: add_chunk reserved room for all ranges
  }

 private:
  void add_chunk() REQUIRES(mutex_) {
    auto chunk = std::make_unique<Chunk>();
    ranges_ += chunk->ranges.size();
    if (free_.capacity() < ranges_) free_.reserve(2 * ranges_);
    for (auto range = chunk->ranges.rbegin(); range != chunk->ranges.rend(); ++range) free_.push_back(&*range);
    chunk->older = newest.load(std::memory_order_relaxed);
    newest.store(chunk.release(), std::memory_order_release);  // never freed: the handler may be reading it
  }

  Mutex mutex_;
  std::vector<GuardedRange*> free_ GUARDED_BY(mutex_);
  std::size_t ranges_ GUARDED_BY(mutex_) = 0;
};

/// Never destroyed, as mappings may be destroyed when the process ends.
FreeRanges& free_ranges() {
  static FreeRanges& ranges = *std::make_unique<FreeRanges>().release();
  return ranges;
}

/// Replaces the page at `address` by zeros and marks its range as corrupt. False: no range holds the address. Runs in
/// the signal handler: no locks, no allocation.
bool replace_page(std::uintptr_t address) {
  for (Chunk* chunk = newest.load(std::memory_order_acquire); chunk != nullptr; chunk = chunk->older) {
    for (GuardedRange& range : chunk->ranges) {
      if (!range.holds(address)) continue;
      const auto page = static_cast<std::uintptr_t>(getpagesize());
      void* const start = reinterpret_cast<void*>(address & ~(page - 1));
      range.corrupt.store(true, std::memory_order_release);
      replaced.fetch_add(1, std::memory_order_release);
      return mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start;
    }
  }
  return false;
}

void end_by_default(int signal) {
  struct sigaction fatal {};
  fatal.sa_handler = SIG_DFL;
  sigaction(signal, &fatal, nullptr);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const bool sent = info->si_code <= 0;  // by `kill` or the like: without an address, and only once
  if (!sent && replace_page(reinterpret_cast<std::uintptr_t>(info->si_addr))) return;
  const struct sigaction& before = *previous.load(std::memory_order_acquire);
  const bool calls =
      (before.sa_flags & SA_SIGINFO) != 0 || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
  // A handler that came after this one passes the signal on to it, which must not pass it back.
  const bool again = passing.load(std::memory_order_relaxed) == gettid();
  if (calls && !again) {
    passing.store(gettid(), std::memory_order_relaxed);
    (before.sa_flags & SA_SIGINFO) != 0 ? before.sa_sigaction(signal, info, context) : before.sa_handler(signal);
    passing.store(0, std::memory_order_relaxed);
  } else if (again || before.sa_handler == SIG_DFL || !sent) {  // a fault cannot be ignored
    end_by_default(signal);
    if (sent) raise(signal);  // a fault repeats when the handler returns
  }
}

/// Libraries that come later install handlers of their own, Ray's among them, and drop the one that is here.
void install() {
  static Mutex mutex;
  const Lock lock{mutex};
  struct sigaction now {};
  sigaction(SIGBUS, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error) return;
  previous.store(std::make_unique<struct sigaction>(now).release(), std::memory_order_release);
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

GuardedRange& guard_range(const std::byte* memory, std::size_t size) {
  install();
  GuardedRange& range = free_ranges().take();
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  range.corrupt.store(false);
  range.end.store(begin + size, std::memory_order_release);
  range.begin.store(begin, std::memory_order_release);
  return range;
}

void unguard_range(GuardedRange& range) {
  range.begin.store(nowhere, std::memory_order_release);
  range.end.store(0, std::memory_order_release);
  free_ranges().give(range);
}

bool range_corrupt(const GuardedRange& range) { return range.corrupt.load(std::memory_order_acquire); }

std::int64_t pages_replaced() { return replaced.load(std::memory_order_acquire); }

}  // namespace forebay::engine
