// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/error.h>

namespace forebay::engine {

inline constexpr std::size_t smallest_page = 4096;  ///< Bytes; the minimum of all supported systems.

inline constexpr std::int64_t threads_allowed = 1024;  ///< Upper limit of the `threads` setting.
/// Fails with Code::config for a number of threads outside 0 … threads_allowed; 0 means the default.
[[nodiscard]] Result<void> check_threads(std::int64_t threads);

[[nodiscard]] std::int64_t usable_processors();  ///< CPUs that this process may use; at least 1.
[[nodiscard]] std::int64_t usable_memory();      ///< Bytes: the machine's, or its container's if less.

/// The defaults of a run. Of several processes of a job on this machine (LOCAL_WORLD_SIZE, and the names of Open MPI
/// and MPICH), each takes its share; what its affinity allows limits it, too, and so do the control groups
/// (`group_limits`).
[[nodiscard]] std::int64_t usual_threads();
[[nodiscard]] std::int64_t usual_memory();

/// The number of processes that a launcher tells; 1 for null and for what is no number from 1 to 1024.
[[nodiscard]] std::int64_t processes_here(const char* text);

}  // namespace forebay::engine
