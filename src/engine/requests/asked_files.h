// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/memory/sync.h"
#include "engine/requests/requests.h"

namespace forebay::engine {

/// Whole files of a FileSystem whose bytes are asked for long before their turn, for batches that are decided ahead:
/// those whose versions are known, as far as they have room. Others are asked for in their turn (FilesAhead).
/// Thread-safe.
class AskedFiles {
 public:
  /// `files`: the paths, by number; they outlive this object. `known`: null: no version is. `max_bytes`: of all files.
  AskedFiles(const std::vector<std::string>& files, std::shared_ptr<Requests> requests,
             std::shared_ptr<const KnownVersions> known, std::int64_t max_bytes)
      : files_{files}, requests_{std::move(requests)}, known_{std::move(known)}, max_bytes_{max_bytes} {}

  struct Asked {
    std::int64_t bytes = 0;  ///< Of the file; 0: it is asked for in its turn.
    bool done = true;        ///< False: there is no room for it now.
  };
  /// Asks for a file, unless that was done.
  [[nodiscard]] Asked ask(std::uint32_t number) EXCLUDES(mutex_);
  /// The request for the bytes of a file, which this object has no more; null: there is none.
  [[nodiscard]] std::shared_ptr<Request> take(std::uint32_t number) EXCLUDES(mutex_);

 private:
  const std::vector<std::string>& files_;
  const std::shared_ptr<Requests> requests_;
  const std::shared_ptr<const KnownVersions> known_;
  const std::int64_t max_bytes_;
  Mutex mutex_;
  std::int64_t bytes_ GUARDED_BY(mutex_) = 0;  // of asked_
  std::unordered_map<std::uint32_t, std::shared_ptr<Request>> asked_ GUARDED_BY(mutex_);
};

}  // namespace forebay::engine
