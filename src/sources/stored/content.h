// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <forebay/error.h>

namespace forebay::sources {

/// The whole content of a file in memory. `owner` keeps the bytes.
struct Content {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

/// Reads a file, and decompresses it when its first bytes say gzip, zstd, bzip2 or xz. The bytes are of one version of
/// the file. Fails with the file in the error's place, and with resource_exhausted for more than `max_bytes` of
/// content, before memory is taken for more.
[[nodiscard]] Result<Content> content_of(const std::string& path, std::int64_t max_bytes);

}  // namespace forebay::sources
