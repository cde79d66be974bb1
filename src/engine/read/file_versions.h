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

/// Waits until every later write of an open file gives it another identity: at most one tick of the system's clock, and
/// 0 unless the file was written within the last tick (io::File::settles_in). After a wait, and always with
/// `look_again`, fails with Code::data when the identity is no longer that of the opening. A consumer with a deadline
/// asks BlockReader::must_settle first and does not wait here.
[[nodiscard]] Result<void> settle(const io::File& file, bool look_again);

// A size of a file, in bytes, or one of these.
inline constexpr std::int64_t missing_file = -1;  ///< The size could not be read.
inline constexpr std::int64_t unknown_size = -2;  ///< The file was not opened yet, nor asked for its size.

/// Remembers which version of each file a run has read, so that no run mixes two versions. OpenFiles owns it.
/// Thread-safe, except `look_again`.
///
///     first opening   remembers the identity; its size is part of a saved state (SourceSizes)
///     later opening   compares with it, in later passes
///     end of a scan   the reader compares with the identity at the opening
///     end of the run  `look_again` compares once more for mapped files, whose records are copied after the scan
class FileVersions {
 public:
  /// `paths` are by number of the file and must outlive the object.
  explicit FileVersions(std::span<const std::string> paths) : paths_{paths} {}

  /// Called after each opening, before anything is read. The first call for a file remembers its version. A later call
  /// fails with Code::data for another version.
  [[nodiscard]] Result<void> opened(std::uint32_t number, const io::File::Identity& identity) EXCLUDES(mutex_);
  /// Called when an opening has failed, or when an index was read of a file of `size` bytes. Only the first size of a
  /// file counts, also if `opened` has given it.
  void failed(std::uint32_t number) EXCLUDES(mutex_);
  void indexed(std::uint32_t number, std::int64_t size) EXCLUDES(mutex_);
  /// The sizes of the files at their first opening, by number; `unknown_size` for a file that was not opened.
  [[nodiscard]] std::vector<std::int64_t> sizes() const EXCLUDES(mutex_);
  /// Called after `opened` when the file is mapped: `look_again` then checks it.
  void mapped(std::uint32_t number) EXCLUDES(mutex_);
  /// Remembers that the checksums of the version that `opened` has compared were right; called after it.
  void verified(std::uint32_t number) EXCLUDES(mutex_);
  [[nodiscard]] bool is_verified(std::uint32_t number) const EXCLUDES(mutex_);
  /// Compares every mapped file with its first version. Called by one thread at a time, when no record is read any
  /// more. Fails with Code::data when a file has changed. A file whose path now names another file, or none, is passed
  /// over. False: the deadline has passed; the next call continues with the next file.
  [[nodiscard]] Result<bool> look_again(std::optional<std::chrono::steady_clock::time_point> deadline) EXCLUDES(mutex_);

 private:
  /// Hashes of an identity, which are smaller than the identity: a run may have millions of files.
  struct Version {
    std::uint64_t name = 0;  // hash of device and inode
    std::uint64_t all = 0;   // hash of the whole identity
    std::int64_t size = unknown_size;
    bool known = false;
    bool mapped = false;
    bool verified = false;
  };
  [[nodiscard]] static Version version_of(const io::File::Identity& identity);
  [[nodiscard]] Error changed(std::size_t number, const char* when) const;

  const std::span<const std::string> paths_;
  std::size_t looked_ = 0;  // files before this one were compared by `look_again`
  [[nodiscard]] Version& at(std::uint32_t number) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<Version> versions_ GUARDED_BY(mutex_);  // by number of the file
};

}  // namespace forebay::engine
