// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace forebay::engine {

struct FileWork {
  std::size_t files = 0;
  std::int64_t threads = 0;  ///< Files at once; 0: one for every CPU this process may use.
  std::chrono::milliseconds period{50};
};

/// Calls `work` with the number of each file, several at once; it must not throw. `go_on` is asked by the calling
/// thread: before the first file, once a period, and when all are done. When it says no or throws, a stop is requested:
/// no file is begun after that, and those that are should soon be left.
///
/// Where the system gives fewer threads, those that there are do the work; where it gives none, the calling thread.
/// Returns when no thread is left; true when every file was gone through without a stop.
[[nodiscard]] bool each_file(const FileWork& wanted,
                             const std::function<void(std::size_t file, const std::stop_token& stop)>& work,
                             const std::function<bool()>& go_on);

}  // namespace forebay::engine
