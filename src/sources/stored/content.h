// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forebay/format.h>
#include <forebay/plugin.h>

#include "sources/stored/zip.h"

namespace forebay::sources {

/// What a plan reads of a file.
struct FileHead {
  Compression compression = Compression::none;  ///< As its first bytes say, where it was `automatic`.
  std::int64_t size = 0;                        ///< Of the file. Without compression that of its content, too.
  std::vector<std::byte> bytes = {};            ///< The first bytes of the content, or all.
};

/// Reads the first `count` bytes of the content of a file. Fails with the file in the error's place.
[[nodiscard]] Result<FileHead> head_of(const std::string& path, Compression compression, std::size_t count,
                                       const BindContext& context);

/// The size of the content of a compressed file, which is read from its beginning to its end. Fails with the file in
/// the error's place, and with resource_exhausted for more than `max_bytes`.
[[nodiscard]] Result<std::int64_t> size_of_content(const std::string& path, Compression compression,
                                                   std::int64_t max_bytes, const BindContext& context);

/// Bytes that a run finds again: a file, its decompressed content, or a member of a zip archive. Plain data of a plan.
struct StoredContent {
  std::string path;
  Compression compression = Compression::none;                  ///< Of the file.
  std::int64_t file_bytes = 0;                                  ///< Of the file.
  std::int64_t bytes = 0;                                       ///< Of the content.
  std::vector<std::byte> header = {};                           ///< Its first bytes, which say where the arrays are.
  std::optional<ZipMember> member = {};                         ///< Of an archive.
  std::vector<std::pair<ArrayView, std::int64_t>> arrays = {};  ///< Views without data, and where their numbers begin.
};

/// The content in memory. `owner` keeps the bytes.
struct Content {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

/// Maps the content, or decompresses it into memory of the run. Checksums of archives are verified. Fails with the file
/// in the error's place: with Code::data when it is corrupt or no longer what the plan has read.
[[nodiscard]] Result<Content> open_content(const StoredContent& content, PartFiles& run);

/// The error of contents that have more than `max_bytes` bytes.
[[nodiscard]] Error more_than_max_bytes(std::int64_t max_bytes);

}  // namespace forebay::sources
