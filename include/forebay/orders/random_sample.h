// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace forebay {

/// Draws records with replacement: a record may come several times in a pass, or never.
///
/// Without `buffer` it draws from all records of all files, by their indexes. It opens the files itself, so there is no
/// `interleave` with it, and it holds no record.
///
/// With `buffer` it draws from the elements before it, which come one after the other: each draw takes one of the
/// buffer, where it stays, and after each draw the next element takes the place of one that is drawn apart. An element
/// comes once on average. A buffer that has room for all elements draws each time from all of them.
struct RandomSample {
  std::optional<std::int64_t> size = {};    ///< Draws of a pass. Empty: as many as there are elements.
  std::optional<std::int64_t> buffer = {};  ///< Elements to draw from. Empty: all records, by index.
};

}  // namespace forebay
