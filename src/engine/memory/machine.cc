// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/machine.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include "engine/memory/control_group.h"

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

std::int64_t processes_here(const char* text) {
  std::int64_t count = 1;
  if (text == nullptr) return 1;
  const std::string_view all{text};
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), count);
  return error == std::errc{} && end == all.data() + all.size() ? std::clamp<std::int64_t>(count, 1, 1024) : 1;
}

namespace {

std::int64_t processes_of_job_here() {
  for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const char* const text = std::getenv(name); text != nullptr) return processes_here(text);
  }
  return 1;
}

}  // namespace

std::int64_t usual_threads() {
  const std::int64_t here = std::min<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN), group_limits().processors);
  const std::int64_t share = std::max<std::int64_t>(1, here / processes_of_job_here());
  return std::min({usable_processors(), share, threads_allowed});
}

std::int64_t usual_memory() { return usable_memory() / 4 / processes_of_job_here(); }

std::int64_t usable_memory() {
  return std::min<std::int64_t>(sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), group_limits().memory);
}

}  // namespace forebay::engine
