// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <forebay/file_system.h>
#include <sys/types.h>

#include "engine/memory/sync.h"

namespace forebay::engine {

/// Whether the versions that lists of a store tell are those that its files say themselves: some stores have versions
/// of two kinds. One file is asked for its version, while the plan and the run go on. Thread-safe.
class ListCheck : public std::enable_shared_from_this<ListCheck> {
 public:
  enum class State : std::uint8_t { asked, equal, different };
  ListCheck();
  /// Asks for the version of a file of which a list has told `told`.
  void begin(FileSystem& system, const std::string& path, const FileVersion& told) EXCLUDES(mutex_);
  /// In a child after a fork, an answer that its parent awaited never comes: `different`.
  [[nodiscard]] State state() const EXCLUDES(mutex_);
  /// Calls `done` when the answer has come, from any thread, without a lock. False: it has come already.
  [[nodiscard]] bool call_when_done(std::function<void()> done) EXCLUDES(mutex_);

 private:
  void answered(State state) EXCLUDES(mutex_);

  const pid_t process_;
  mutable Mutex mutex_;
  State state_ GUARDED_BY(mutex_) = State::asked;
  std::vector<std::function<void()>> waiting_ GUARDED_BY(mutex_);
};

}  // namespace forebay::engine
