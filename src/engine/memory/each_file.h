// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace forebay::engine {

/// The settings of `each_file`.
struct FileWork {
  std::size_t files = 0;
  std::int64_t threads = 0;              ///< Threads; 0: one for every CPU this process may use.
  std::chrono::milliseconds period{50};  ///< Time between two calls of `go_on`.
};

/// Calls `work` with the number of each file, on several threads at once; `work` must not throw. The calling thread
/// calls `go_on` before the first file, once a period, and after the last file. When `go_on` returns false or throws, a
/// stop is requested: no further file is begun, and `work` should return soon from the files that were begun.
///
/// Uses fewer threads where the system does not give more, and the calling thread where it gives none. Returns when all
/// threads have ended; true when all files were worked on without a stop.
[[nodiscard]] bool each_file(const FileWork& wanted,
                             const std::function<void(std::size_t file, const std::stop_token& stop)>& work,
                             const std::function<bool()>& go_on);

}  // namespace forebay::engine
