// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/index/index_store.h"
#include "io/file_system.h"

namespace forebay::engine {

/// Hashes of the first and the last 4 KiB of a file: what a copy of it in another place has, too.
struct FileEnds {
  std::uint64_t head = 0, tail = 0;
  bool operator==(const FileEnds&) const = default;

  /// Of a file with these bytes at its ends.
  [[nodiscard]] static FileEnds of(std::span<const std::byte> head, std::span<const std::byte> tail);
  /// Of the file that the entries are of, as far as they tell: of its identity, or in an entry of StoredKind::ends.
  [[nodiscard]] static std::optional<FileEnds> of(std::span<const StoreEntry> entries);
  /// Where both ends of a file of `size` bytes are. Those of an empty file are empty.
  [[nodiscard]] static std::pair<io::ByteRange, io::ByteRange> ranges(std::int64_t size);
  /// The payload of an entry of StoredKind::ends.
  [[nodiscard]] std::vector<std::byte> image() const;
};

}  // namespace forebay::engine
