// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <forebay/json.h>
#include <forebay/windows/by_key.h>

namespace forebay::windows {

/// Sizes and steps as RETURNN's option `chunking` says them.
struct Chunking {
  FramesByKey size;
  FramesByKey step;
};

/// Reads `"S:T"`, `"S"`, S, [S, T], {key: S} or [{key: S}, {key: T}]. Null and 0 switch chunking off: nothing is
/// returned. A step of 0, or none, is the size; beside other steps a step of 0 stays.
[[nodiscard]] Result<std::optional<Chunking>> parse_chunking(const Json& chunking);

}  // namespace forebay::windows
