// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Leaves out the first `count` files of a pass. Stands before the order that opens files; where there is none, files
/// are read one after the other.
struct SkipFiles {
  std::int64_t count = 0;  ///< Files to leave out.
};

}  // namespace forebay
