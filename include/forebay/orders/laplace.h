// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/field_types.h>

namespace forebay {

/// Sorts each `buffer` elements of the stream by an integer: the first ones up, the next ones down, and so on. The last
/// ones of a pass may be fewer, and each pass begins with up. It needs no index and comes after `interleave`. It takes
/// 72 bytes an element of the buffer, most of them while it sorts.
struct Laplace {
  std::int64_t buffer = 1;  ///< Elements that are sorted together.
  Expression by;            ///< The integer: "length(tokens)" (docs/expressions.md).
};

}  // namespace forebay
