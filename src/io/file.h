// SPDX-License-Identifier: Apache-2.0
#pragma once

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
class File {
 public:
  /// What an open file is known by: another file under the same name, or other content, has another identity.
  struct Identity {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0, modified_ns = 0;
    bool operator==(const Identity&) const = default;
  };

  /// Of what is there under that name now, without opening it; links are followed.
  [[nodiscard]] static Result<Identity> identity_at(const std::string& path);

  /// Fails with Code::io for what cannot be opened; never waits. Folders, pipes, sockets and devices are refused.
  [[nodiscard]] static Result<File> open(const std::string& path, Links links = Links::follow);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }  ///< When it was opened …
  [[nodiscard]] std::int64_t size() const { return identity_.size; }    ///< … and so is this.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Fills `out` from `offset`; fewer bytes only where the file ends.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> out, std::int64_t offset) const;
  /// The same, but a fault behind the first byte ends it: what came before is given, and the next call there fails.
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> out, std::int64_t offset) const;
  /// The same without waiting for a device: what is in memory. An error counts as nothing.
  [[nodiscard]] std::size_t read_cached(std::span<std::byte> out, std::int64_t offset) const;
  void will_need(std::int64_t offset, std::size_t length) const;  ///< Starts reading a range that is not in memory.
  /// Fails with Code::data when its identity is no longer what it was at the opening.
  [[nodiscard]] Result<void> unchanged() const;

 private:
  File() = default;
  std::string path_;
  int descriptor_ = -1;
  Identity identity_;
};

}  // namespace forebay::io
