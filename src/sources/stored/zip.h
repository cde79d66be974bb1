// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forebay/rows.h>

#include "io/file_system.h"

namespace forebay::sources {

/// A member of a zip archive, as its central directory and its local header say.
struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t checksum = 0;  ///< CRC-32 of the content.
  std::uint64_t size = 0;      ///< Bytes of the content.
  std::int64_t begin = 0;      ///< Where its bytes begin in the archive.
  std::int64_t stored = 0;     ///< Bytes in the archive.
};

/// The members of an archive in the order of its directory. Fails with Code::data for an archive that numpy does not
/// write: members that overlap, that are encrypted, that use another compression or other sizes than their local header
/// says, or more than 65,536 of them. Reads the directory and the headers only.
[[nodiscard]] Result<std::vector<ZipMember>> zip_members(const io::RandomAccessFile& archive);

/// The first `count` bytes of a member's content, or all. Their checksum is not verified.
[[nodiscard]] Result<std::vector<std::byte>> zip_head(const ZipMember& member, const io::RandomAccessFile& archive,
                                                      std::size_t count);

struct Content;

/// The content of a member, verified by its checksum. A stored member is not copied: `archive` owns it. Fails when the
/// content has another size than the directory says.
[[nodiscard]] Result<Content> zip_content(const ZipMember& member, const std::string& path, const Content& archive,
                                          PartFiles& run);

}  // namespace forebay::sources
