// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace forebay::tests {

/// Returns the bytes of this process's pages that are in memory.
inline std::int64_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace forebay::tests
