// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forebay/error.h>

#include "io/file.h"

namespace forebay::io {

/// What a file is known by from one process to the next: of File::Identity what a copy keeps, and its ends. Equal
/// identities mean the same content, but for a rewrite in the middle that keeps the size and puts the modification time
/// back.
struct FileIdentity {
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t head = 0;  ///< Hash of the first 4 KiB …
  std::uint64_t tail = 0;  ///< … and of the last.

  bool operator==(const FileIdentity&) const = default;
};

[[nodiscard]] Result<FileIdentity> identify(const File& file);
/// What differs, in words: "its size was 12, now 15"; empty when nothing does.
[[nodiscard]] std::string difference(const FileIdentity& before, const FileIdentity& now);

[[nodiscard]] std::uint64_t fnv1a(std::span<const std::byte> bytes);  ///< 64-bit FNV-1a.

}  // namespace forebay::io
