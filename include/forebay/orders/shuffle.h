// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace forebay {

/// Puts the elements of a pass into a random order, a new one each pass. One of the two must be given.
struct Shuffle {
  /// Each element is drawn from a buffer of so many that is kept full; before `interleave` it shuffles files. 1 keeps
  /// the order, at least the number of elements is a uniform shuffle.
  std::optional<std::int64_t> buffer = {};
  /// An exact permutation of all records of all files, in constant memory. It reads the files' indexes (and makes those
  /// that are missing) and opens the files itself: no `interleave` beside it.
  bool global = false;
};

}  // namespace forebay
