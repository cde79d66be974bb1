// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace forebay {

/// Runs everything before it several times, as one pass. A shuffle before it has another order each time.
struct Repeat {
  std::optional<std::int64_t> count;  ///< Passes. Empty: for ever.
};

}  // namespace forebay
