// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <forebay/error.h>

namespace forebay::io {

struct ByteRange {
  std::int64_t offset = 0, bytes = 0;
  [[nodiscard]] std::int64_t end() const { return offset + bytes; }
};

/// The bytes of one version of one file, open for reading.
///
///     File            a local file: bytes are always ready, and it may be mapped
///     RequestedFile   a file of a FileSystem: bytes are ready when a request has brought them (src/engine/requests)
class RandomAccessFile {
 public:
  /// Identifies one version of one file. It is compared within one run and is never stored.
  ///
  /// Local: another file under the same name has another inode. Every write sets both times; a program can put
  /// `modified_ns` back, but not `changed_ns` (ctime). Of a FileSystem: `version` says it all.
  struct Identity {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0, modified_ns = 0, changed_ns = 0;
    std::uint64_t version = 0;  ///< Hash of the ETag or the generation. 0 for a local file.
    bool operator==(const Identity&) const = default;
    [[nodiscard]] bool same_file(const Identity& other) const { return device == other.device && inode == other.inode; }
  };

  virtual ~RandomAccessFile() = default;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }  ///< At the opening.
  [[nodiscard]] std::int64_t size() const { return identity_.size; }    ///< At the opening.

  /// Fills `out` from `offset` and returns the number of bytes: fewer than `out` only where the file ends. Waits for
  /// bytes that are not ready. Fails with Code::io, and with Code::data when the file has changed.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> out, std::int64_t offset) const;
  /// As `read`, but may return fewer bytes, at least one before the end of the file. A fault after the first byte is
  /// not an error: the bytes before it are returned, and the next call from there fails.
  [[nodiscard]] virtual Result<std::size_t> read_some(std::span<std::byte> out, std::int64_t offset) const = 0;
  /// Asks for a range, which is read later. Does not wait.
  virtual void want(ByteRange range) = 0;
  /// Whether `read_some` at `offset` would not wait. A fault is ready, too, and so is the end of the file.
  [[nodiscard]] virtual bool ready([[maybe_unused]] std::int64_t offset) const { return true; }
  /// Fails with Code::data when bytes that were read may be of another version than the one that was opened.
  [[nodiscard]] virtual Result<void> unchanged() const = 0;

 protected:
  RandomAccessFile() = default;
  RandomAccessFile(std::string path, const Identity& identity) : path_{std::move(path)}, identity_{identity} {}
  RandomAccessFile(const RandomAccessFile&) = default;
  RandomAccessFile(RandomAccessFile&&) = default;
  RandomAccessFile& operator=(const RandomAccessFile&) = default;
  RandomAccessFile& operator=(RandomAccessFile&&) = default;
  std::string path_;
  Identity identity_;
};

}  // namespace forebay::io
