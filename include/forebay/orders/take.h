// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Ends a pass after its first `count` rows.
/// Stands behind the order that opens files, `interleave` or a global shuffle.
struct Take {
  std::int64_t count = 0;  ///< Rows of a pass.
};

}  // namespace forebay
