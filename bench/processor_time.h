// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <time.h>

/// Times of the processor for the programs of this folder that compare two loops on one thread.
namespace forebay::bench {

/// Seconds that this thread has used of the processor.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Seconds of the processor for one call, of measurements of at least 20 ms.
template <class Call>
double seconds(Call call) {
  const double begin = processor_seconds();
  std::int64_t times = 0;
  double passed = 0;
  do {
    call();
    ++times;
  } while ((passed = processor_seconds() - begin) < 0.02);
  return passed / static_cast<double>(times);
}

}  // namespace forebay::bench
