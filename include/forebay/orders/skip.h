// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Leaves out the first `count` elements of a pass. Before `interleave` the elements are files.
struct Skip {
  std::int64_t count = 0;  ///< Elements to leave out.
};

}  // namespace forebay
