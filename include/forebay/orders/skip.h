// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Leaves out the first `count` rows of a pass.
/// Stands behind the order that opens files, `interleave` or a global shuffle.
struct Skip {
  std::int64_t count = 0;  ///< Rows to leave out.
};

}  // namespace forebay
