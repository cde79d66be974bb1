// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Ends after the first `count` elements of a pass; before `interleave` it counts files.
struct Take {
  std::int64_t count = 0;  ///< Elements to keep.
};

}  // namespace forebay
