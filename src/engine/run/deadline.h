// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace forebay::engine {

/// The time when a wait of `timeout` ends, which began at `since`; empty: no limit, or one beyond the range of the
/// clock. A negative timeout has passed.
[[nodiscard]] inline std::optional<std::chrono::steady_clock::time_point> deadline_of(
    std::chrono::steady_clock::time_point since, std::optional<std::chrono::milliseconds> timeout) {
  using std::chrono::milliseconds;
  const auto most = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::time_point::max() - since);
  if (!timeout || *timeout >= most) return std::nullopt;
  return since + std::max(*timeout, milliseconds{0});
}

}  // namespace forebay::engine
