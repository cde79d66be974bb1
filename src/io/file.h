// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forebay/error.h>

namespace forebay::io {

/// The error of a failed system call on `path`: what was tried, errno in words, and its finer cause.
[[nodiscard]] Error system_error(const std::string& doing, const std::string& path, int number);

/// In bytes, without opening the file; links are followed.
[[nodiscard]] Result<std::int64_t> file_size(const std::string& path);
/// Of all the files; one that cannot be looked at counts for nothing.
[[nodiscard]] std::int64_t total_size(std::span<const std::string> paths);

/// What becomes of a symbolic link in the place of a file. Only the last part of a path is looked at.
enum class Links : std::uint8_t { follow, refuse };

/// A regular file, open for reading. Any number of threads may read it at once.
///
///     open ──► identity ──► settles_in: wait ──► read … ──► unchanged()? ──► all that was read is of one
///     version
class File {
 public:
  /// Identifies one version of one file on this machine. Another file under the same name has another inode. Every
  /// write sets both times; a program can put `modified_ns` back, but not `changed_ns` (ctime). An identity is compared
  /// within one run and is never stored.
  struct Identity {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0, modified_ns = 0, changed_ns = 0;
    bool operator==(const Identity&) const = default;
    [[nodiscard]] bool same_file(const Identity& other) const { return device == other.device && inode == other.inode; }
  };

  /// Identity of the file that has this name now, without opening it. Links are followed.
  [[nodiscard]] static Result<Identity> identity_at(const std::string& path);

  /// Fails with Code::io for what cannot be opened; never waits. Folders, pipes, sockets and devices are refused.
  [[nodiscard]] static Result<File> open(const std::string& path, Links links = Links::follow);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }  ///< At the opening.
  [[nodiscard]] std::int64_t size() const { return identity_.size; }    ///< At the opening.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Fills `out` from `offset`; fewer bytes only where the file ends.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> out, std::int64_t offset) const;
  /// The same, but a fault behind the first byte ends it: what came before is given, and the next call there fails.
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> out, std::int64_t offset) const;
  /// The same without waiting for a device: what is in memory. An error counts as nothing.
  [[nodiscard]] std::size_t read_cached(std::span<std::byte> out, std::int64_t offset) const;
  void will_need(std::int64_t offset, std::size_t length) const;  ///< Starts reading a range that is not in memory.
  /// Fails with Code::data when the identity is no longer that of the opening. A file that has lost its name since, by
  /// `rename` or `unlink`, may have a new `changed_ns`.
  [[nodiscard]] Result<void> unchanged() const;
  /// Returns how long it takes until every later write gives another identity; at most some milliseconds. Usually 0:
  /// only of a file that was written within the last tick of the system's clock two writes may have equal times.
  /// Linux 6.13 and later tell even these apart on ext4, xfs, btrfs and tmpfs, once the times were looked at.
  [[nodiscard]] std::chrono::nanoseconds settles_in() const;

 private:
  File() = default;
  std::string path_;
  int descriptor_ = -1;
  Identity identity_;
};

/// Returns how long it takes from now until the clock has ticked since the last change of the file: 0 for a file that
/// was not changed within the last tick, else at most one tick, which is some milliseconds.
[[nodiscard]] std::chrono::nanoseconds clock_ticks_in(const File::Identity& identity);

/// Describes how two identities of one file differ: "it had 12 bytes, now 15". Empty when they are equal.
[[nodiscard]] std::string difference(const File::Identity& before, const File::Identity& now);

}  // namespace forebay::io
