// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace forebay::engine {

constexpr std::int64_t usual_requests = 32;  // to stores, in flight at once

/// Where parts of files of stores are kept.
struct CacheFolder {
  std::string folder = {};  ///< As RunOptions::cache_dir.
  std::int64_t bytes = 0;   ///< As RunOptions::cache_size.
};

/// The resources of a run besides its memory.
struct RunMeans {
  std::int64_t threads = 1;
  std::string index_dir = {};              ///< As RunOptions::index_dir.
  std::int64_t requests = usual_requests;  ///< As RunOptions::requests.
  CacheFolder cache = {};
  std::int64_t processes = 1;  ///< That share the rows of its batches.
};

}  // namespace forebay::engine
