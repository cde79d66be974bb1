// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/plugin.h>

namespace forebay {

/// Reads the binary files of CIFAR-10 and CIFAR-100: rows that come ready, so the document has no `decode`. Tensors:
/// `image` uint8 [3, 32, 32] and `label` uint8; of CIFAR-100 also `coarse_label`. A run maps the files, and
/// decompresses compressed ones into its memory budget.
struct Cifar {
  Paths files;                                      ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  std::int64_t classes = 10;                        ///< 10 or 100.
  std::int64_t max_bytes = std::int64_t{64} << 30;  ///< More bytes of content in all files together are an error.
};

}  // namespace forebay
