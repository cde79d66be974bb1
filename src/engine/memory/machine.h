// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/error.h>

namespace forebay::engine {

inline constexpr std::size_t smallest_page = 4096;  ///< Bytes. Of any system that this runs on.

inline constexpr std::int64_t threads_allowed = 1024;
/// Fails with Code::config, in words, for a number of threads that nobody may ask for; 0 stands for a default.
[[nodiscard]] Result<void> check_threads(std::int64_t threads);

[[nodiscard]] std::int64_t usable_processors();  ///< That this process may run on; at least 1.
[[nodiscard]] std::int64_t usable_memory();      ///< Bytes of the machine, or of its container when that is less.

}  // namespace forebay::engine
