// SPDX-License-Identifier: Apache-2.0
#include "engine/bus_guard.h"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

namespace forebay::engine {

namespace {

constexpr std::uintptr_t nowhere = ~std::uintptr_t{0};  // no address is at or behind it

struct Range {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{nowhere};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> damaged{false};
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free, "used in a signal handler");

std::array<Range, 4096> ranges;
struct sigaction previous;

bool replace_page(std::uintptr_t address) {
  for (Range& range : ranges) {
    if (address < range.begin.load(std::memory_order_acquire) || address >= range.end.load(std::memory_order_acquire))
      continue;
    const auto page = static_cast<std::uintptr_t>(getpagesize());
    void* const start = reinterpret_cast<void*>(address & ~(page - 1));
    range.damaged.store(true, std::memory_order_release);
    return mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start;
  }
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  if (replace_page(reinterpret_cast<std::uintptr_t>(info->si_addr))) return;
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN && previous.sa_handler != nullptr) {
    previous.sa_handler(signal);
  } else {
    sigaction(SIGBUS, &previous, nullptr);  // the fault comes again, to the handler that was there before
  }
}

void install() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGBUS, &action, &previous);
}

}  // namespace

int guard_range(const std::byte* memory, std::size_t size) {
  static std::once_flag once;
  std::call_once(once, install);
  for (std::size_t slot = 0; slot < ranges.size(); ++slot) {
    bool expected = false;
    if (!ranges[slot].taken.compare_exchange_strong(expected, true)) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    ranges[slot].damaged.store(false);
    ranges[slot].end.store(begin + size, std::memory_order_release);
    ranges[slot].begin.store(begin, std::memory_order_release);
    return static_cast<int>(slot);
  }
  return -1;
}

void unguard_range(int slot) {
  Range& range = ranges[static_cast<std::size_t>(slot)];
  range.begin.store(nowhere, std::memory_order_release);
  range.end.store(0, std::memory_order_release);
  range.taken.store(false, std::memory_order_release);
}

bool range_damaged(int slot) { return ranges[static_cast<std::size_t>(slot)].damaged.load(std::memory_order_acquire); }

}  // namespace forebay::engine
