// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace forebay {

/// Goes through everything before it several times, each time in a new order where there is shuffling.
struct Repeat {
  std::optional<std::int64_t> count;  ///< Passes; null: for ever.
};

}  // namespace forebay
