// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forebay/error.h>

#include "io/file_system.h"

namespace forebay::io {

/// The error of a failed system call on `path`. `doing` is the verb of the message; `number` is errno, which gives its
/// words and its Detail.
[[nodiscard]] Error system_error(const std::string& doing, const std::string& path, int number);

/// Words for the end of a message about a path that does not exist, when a shell would have expanded it: braces, `~`,
/// `$`.
[[nodiscard]] std::string_view shell_hint(std::string_view path);

/// The size of a file in bytes, without opening it. Links are followed. Fails with Code::io.
[[nodiscard]] Result<std::int64_t> file_size(const std::string& path);
/// The sum of the sizes in bytes. A file whose size cannot be read counts as empty.
[[nodiscard]] std::int64_t total_size(std::span<const std::string> paths);

/// The handling of a symbolic link in the last part of a path.
enum class Links : std::uint8_t { follow, refuse };

/// The folder of the files that are opened one after the other. The second one and those after it are opened by their
/// names in it, which saves the system the way to the folder. Until a file of another folder is opened, the folder
/// stays the one that it was, also when another one gets its name. Not thread-safe; the destructor closes it.
class LastFolder {
 public:
  LastFolder() = default;
  LastFolder(const LastFolder&) = delete;
  LastFolder& operator=(const LastFolder&) = delete;
  ~LastFolder() { close(); }

  /// What `openat` opens a path by: the folder's descriptor and the file's name, or no folder and the path.
  struct Name {
    int folder;
    const char* name;
  };
  [[nodiscard]] Name find(const std::string& path);

 private:
  void close();
  std::string path_;  // with the slash after it
  int descriptor_ = -1;
};

/// A regular file, open for reading. Any number of threads may read it at once. The destructor closes it.
///
///     open ─► identity ─► settles_in: wait ─► read … ─► unchanged: all bytes that were read are of one version
class File final : public RandomAccessFile {
 public:
  /// Identity of the file that has this name now, without opening it. Links are followed.
  [[nodiscard]] static Result<Identity> identity_at(const std::string& path);

  /// Opens a file; never waits. Fails with Code::io when it cannot be opened, and for folders, pipes, sockets and
  /// devices.
  [[nodiscard]] static Result<File> open(const std::string& path, Links links = Links::follow);
  /// The same for the next of several files.
  [[nodiscard]] static Result<File> open(const std::string& path, LastFolder& folder);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() override;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> out, std::int64_t offset) const override;
  /// Reads only bytes that are in the page cache, without waiting for the device. Returns their number; 0 after an
  /// error.
  [[nodiscard]] std::size_t read_cached(std::span<std::byte> out, std::int64_t offset) const;
  void will_need(std::int64_t offset, std::size_t length) const;  ///< Starts reading a range ahead; does not wait.
  void want(ByteRange range) override { will_need(range.offset, static_cast<std::size_t>(range.bytes)); }
  /// Fails with Code::data when the identity is no longer that of the opening. A file that has lost its name since, by
  /// `rename` or `unlink`, may have a new `changed_ns`.
  [[nodiscard]] Result<void> unchanged() const override;
  /// Returns the time until every later write gives the file another identity: at most some milliseconds, and usually
  /// 0. Two writes within one tick of the system's clock may set equal times, so the time is not 0 for a file that was
  /// written within the last tick. Linux 6.13 and later need no wait on ext4, xfs, btrfs and tmpfs: there a write after
  /// the times were read sets other times.
  [[nodiscard]] std::chrono::nanoseconds settles_in() const;

 private:
  File() = default;
  [[nodiscard]] static Result<File> open_at(LastFolder::Name name, const std::string& path, int flags);
  int descriptor_ = -1;
};

/// Returns the time from now until one tick of the clock after the last change of the file. 0 for a file that was not
/// changed within the last tick, else at most one tick: some milliseconds.
[[nodiscard]] std::chrono::nanoseconds clock_ticks_in(const File::Identity& identity);

/// Describes how two identities of one file differ: "it had 12 bytes, now 15". Empty when they are equal.
[[nodiscard]] std::string difference(const File::Identity& before, const File::Identity& now);

}  // namespace forebay::io
