// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/memory/sync.h"
#include "io/file.h"

namespace forebay::engine {

/// Waits until the identity of an open file tells every later write: at most one tick of the system's clock, and only
/// when the file has just been written (io::File::settles_in). Then, or with `look_again`, fails with Code::data when
/// the identity is no longer that of the opening. Never called on the consumer's thread by a scan.
[[nodiscard]] Result<void> settle(const io::File& file, bool look_again);

/// Remembers which version of each file a run has read, so that no run mixes two. Any thread may call.
///
///     first opening   remembers the identity
///     later opening   compares with it, in later passes
///     end of a scan   FileReader compares with the identity at the opening
///     end of the run  `look_again` compares once more for mapped files, whose records are copied after the scan
class FileVersions {
 public:
  /// `paths`, by the numbers of the files, must stay.
  explicit FileVersions(std::span<const std::string> paths) : paths_{paths} {}

  /// Called after each opening, before anything is read. Fails with Code::data when it is not the version of the first
  /// opening.
  [[nodiscard]] Result<void> opened(std::uint32_t number, const io::File::Identity& identity) EXCLUDES(mutex_);
  /// Called when the file is mapped.
  void mapped(std::uint32_t number) EXCLUDES(mutex_);
  /// Called when no record is read any more. Fails with Code::data when a mapped file is not what it was; a file that
  /// has lost its name is not looked at. False: the deadline passed, and the next call goes on. One thread at a time.
  [[nodiscard]] Result<bool> look_again(std::optional<std::chrono::steady_clock::time_point> deadline) EXCLUDES(mutex_);

 private:
  /// Hashes instead of the identity: a run may have millions of files.
  struct Version {
    std::uint64_t name = 0;  // of device and inode
    std::uint64_t all = 0;   // of the whole identity
    bool known = false;
    bool mapped = false;
  };
  [[nodiscard]] static Version version_of(const io::File::Identity& identity);
  [[nodiscard]] Error changed(std::size_t number, const char* when) const;

  const std::span<const std::string> paths_;
  std::size_t looked_ = 0;  // of `look_again`: files before this one are right
  Mutex mutex_;
  std::vector<Version> versions_ GUARDED_BY(mutex_);  // by number
};

}  // namespace forebay::engine
