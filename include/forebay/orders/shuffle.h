// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Draws each element from a buffer that is kept full; before `interleave` it shuffles files.
struct Shuffle {
  std::int64_t buffer =
      0;  ///< Elements in the buffer; 1 keeps the order, at least the number of elements is a uniform shuffle.
};

}  // namespace forebay
