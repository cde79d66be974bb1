// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/machine.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

namespace forebay::engine {

Result<void> check_threads(std::int64_t threads) {
  if (threads >= 0 && threads <= threads_allowed) return {};
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("threads: must be an integer from 0 to {}, found {}", threads_allowed, threads)};
}

std::int64_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max<std::int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
}

std::int64_t usable_memory() {
  std::int64_t bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  // The limit of the control group, version 2 and version 1; "max" or nothing readable means none.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file{path};
    std::int64_t limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace forebay::engine
