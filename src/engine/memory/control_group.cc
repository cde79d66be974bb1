// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace forebay::engine {

namespace {

/// The first line of a file; empty when it cannot be read.
std::string line_of(const std::string& path) {
  std::string line;
  std::ifstream file{path};
  std::getline(file, line);
  return line;
}

/// A folder of the group file system: of version 2, or of the controllers of version 1 that it is mounted for.
void look_into(const std::string& folder, GroupLimits& out) {
  const auto lower = [](std::int64_t& limit, std::int64_t found) { limit = std::min(limit, found); };
  lower(out.processors, processors_of_quota(line_of(folder + "/cpu.max")));
  lower(out.processors,
        processors_of_quota(line_of(folder + "/cpu.cfs_quota_us") + " " + line_of(folder + "/cpu.cfs_period_us")));
  for (const char* const name : {"/memory.max", "/memory.limit_in_bytes"}) {
    std::int64_t bytes = 0;
    if (std::ifstream file{folder + name}; file >> bytes && bytes > 0) lower(out.memory, bytes);
  }
}

}  // namespace

std::int64_t processors_of_quota(std::string_view text) {
  std::istringstream words{std::string{text}};
  std::int64_t quota = 0, period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return INT64_MAX;
  return std::max<std::int64_t>(1, quota / period + (quota % period != 0 ? 1 : 0));
}

GroupLimits group_limits(const std::string& root) {
  GroupLimits out;
  std::ifstream groups{root + "/proc/self/cgroup"};
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:PATH, without controllers in version 2
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string mounted = root + "/sys/fs/cgroup" + (controllers.empty() ? "" : "/") + controllers;
    // In a container the path may be that of the host, whose folders are not there: its own group is at the top.
    std::string path = line.substr(second + 1);
    for (std::size_t end = path.size(); end != 0 && end != std::string::npos; end = path.rfind('/', end - 1))
      look_into(mounted + path.substr(0, end), out);
  }
  for (const char* const top : {"", "/cpu", "/cpu,cpuacct", "/memory"}) look_into(root + "/sys/fs/cgroup" + top, out);
  return out;
}

}  // namespace forebay::engine
