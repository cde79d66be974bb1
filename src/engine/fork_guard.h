// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay::engine {

/// How many forks lie between the program's start and this process. A pipeline that was made in another generation has
/// no threads here, and its locks may be held for ever.
[[nodiscard]] std::uint64_t fork_generation();

}  // namespace forebay::engine
