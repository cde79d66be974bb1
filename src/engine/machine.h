// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay::engine {

[[nodiscard]] std::int64_t usable_processors();  ///< That this process may run on; at least 1.
[[nodiscard]] std::int64_t usable_memory();      ///< Bytes of the machine, or of its container when that is less.

}  // namespace forebay::engine
