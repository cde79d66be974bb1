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
/// It has the parts of File::Identity that do not change in a copy of the file, and hashes of both ends. It has no
/// change time and no inode, as those of a copy differ. Equal identities mean equal content, with one exception: a
/// rewrite in the middle of the file that leaves the size as it is and sets the modification time back.
struct FileIdentity {
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t head = 0;  ///< Hash of the first 4 KiB.
  std::uint64_t tail = 0;  ///< Hash of the last 4 KiB.

  bool operator==(const FileIdentity&) const = default;
};

/// Reads both ends of the file. Fails with Code::io.
[[nodiscard]] Result<FileIdentity> identify(const RandomAccessFile& file);
/// Describes how two identities differ: "its size was 12 bytes, now 15". Empty when they are equal.
[[nodiscard]] std::string difference(const FileIdentity& before, const FileIdentity& now);

[[nodiscard]] std::uint64_t fnv1a(std::span<const std::byte> bytes);  ///< 64-bit FNV-1a.

}  // namespace forebay::io
