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
  /// Fails with Code::io for what cannot be opened; never waits. Folders, pipes, sockets and devices are refused.
  [[nodiscard]] static Result<File> open(const std::string& path, Links links = Links::follow);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t size() const { return size_; }             ///< When it was opened.
  [[nodiscard]] std::int64_t modified_ns() const { return modified_; }  ///< When it was opened.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Fills `out` from `offset`; fewer bytes only where the file ends.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> out, std::int64_t offset) const;
  /// The same, but a fault behind the first byte ends it: what came before is given, and the next call there fails.
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> out, std::int64_t offset) const;
  /// Fails with Code::data when size or modification time are no longer what they were at the opening.
  [[nodiscard]] Result<void> unchanged() const;

 private:
  File() = default;
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  std::int64_t modified_ = 0;  ///< Nanoseconds.
};

}  // namespace forebay::io
