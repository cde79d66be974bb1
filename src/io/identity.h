// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forebay/error.h>

#include "io/file.h"

namespace forebay::io {

/// Identifies the content of a file across processes. A stored index holds the identity of its file.
///
/// The identity of a local file has the parts of RandomAccessFile::Identity that a copy keeps, and hashes of both ends.
/// It has no change time and no inode, as those of a copy differ. Equal identities mean equal content, with one
/// exception: a rewrite in the middle of the file that leaves the size as it is and sets the modification time back.
///
/// The identity of a file of a FileSystem has its version: another object under the same name has another version.
struct FileIdentity {
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t head = 0;  ///< Hash of the first 4 KiB; with a version, that.
  std::uint64_t tail = 0;  ///< Hash of the last 4 KiB; with a version, `of_version`.

  static constexpr std::uint64_t of_version = 0x6f665f76657273;
  static constexpr std::int64_t end_bytes = 4096;  ///< Of each end.

  [[nodiscard]] bool is_version() const { return tail == of_version; }
  bool operator==(const FileIdentity&) const = default;
};

/// The identity of a version of a file of a FileSystem.
[[nodiscard]] FileIdentity identity_of(const RandomAccessFile::Identity& version);
/// Reads both ends of a local file. Fails with Code::io.
[[nodiscard]] Result<FileIdentity> identify(const RandomAccessFile& file);
/// Describes how two identities differ: "its size was 12 bytes, now 15". Empty when they are equal.
[[nodiscard]] std::string difference(const FileIdentity& before, const FileIdentity& now);

[[nodiscard]] std::uint64_t fnv1a(std::span<const std::byte> bytes);  ///< 64-bit FNV-1a.

}  // namespace forebay::io
