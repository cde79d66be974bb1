// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// The threads and the bytes of memory of a run whose options leave the choice to it: one thread for every CPU that
/// this process may use, by its affinity and by its control group, and a quarter of the memory. Of several processes of
/// a job on this machine (LOCAL_WORLD_SIZE), each takes its share.
struct UsualResources {
  std::int64_t threads = 1;
  std::int64_t memory = 0;
};
[[nodiscard]] UsualResources usual_resources();

}  // namespace forebay
