// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Opens `cycle` files at a time and takes `block` records from each in turn.
struct Interleave {
  std::int64_t cycle = 1;  ///< Files open at a time.
  std::int64_t block = 1;  ///< Records taken from a file before the next file.
  bool sloppy = false;     ///< A file whose next record is not read yet may be passed over: the order may vary.
};

}  // namespace forebay
