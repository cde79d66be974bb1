// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Shuffles cut batches: blocks of `buffer` consecutive batches, each in a random order of its own. Their rows stay
/// together.
struct ShuffleBatches {
  std::int64_t buffer = 1;  ///< Batches of a block.
};

}  // namespace forebay
