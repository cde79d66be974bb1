// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Ends a pass after its first `count` files. Stands before the order that opens files; where there is none, files are
/// read one after the other.
struct TakeFiles {
  std::int64_t count = 0;  ///< Files of a pass.
};

}  // namespace forebay
