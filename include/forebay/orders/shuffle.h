// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace forebay {

/// Puts the elements of a pass into a random order, a new one each pass. `buffer` or `global` must be given.
struct Shuffle {
  /// Each element is drawn from a buffer of this size. 1 does not change the order; a buffer as large as the pass is a
  /// uniform shuffle. Before `interleave` the elements are files.
  std::optional<std::int64_t> buffer = {};
  /// An exact permutation of all records of all files, in constant memory. It reads the indexes of the files and makes
  /// missing ones. It opens the files itself, so there is no `interleave` with it.
  bool global = false;
};

}  // namespace forebay
