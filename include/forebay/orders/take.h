// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Ends a pass after its first `count` elements. Before `interleave` the elements are files.
struct Take {
  std::int64_t count = 0;  ///< Elements of a pass.
};

}  // namespace forebay
