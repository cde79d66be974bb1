// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// How full a buffer is, for statistics. The order writes it, and the engine reads it between two calls.
struct Gauge {
  std::string_view name = {};  ///< Of the plug-in; empty: nothing is buffered.
  std::int64_t held = 0, capacity = 0;
  bool of_files = false;  ///< Set by the engine: elements are files.
};

}  // namespace forebay
