// SPDX-License-Identifier: Apache-2.0
#include "engine/index/published/file_ends.h"

#include <algorithm>
#include <cstring>

#include "columns/crc32c.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t end_bytes = 4096;

}  // namespace

FileEnds FileEnds::of(std::span<const std::byte> head, std::span<const std::byte> tail) {
  return {.head = io::fnv1a(head), .tail = io::fnv1a(tail)};
}

std::optional<FileEnds> FileEnds::of(std::span<const StoreEntry> entries) {
  if (entries.empty()) return std::nullopt;
  const io::FileIdentity& identity = entries.front().identity;
  if (identity.tail != io::FileIdentity::of_version) return FileEnds{.head = identity.head, .tail = identity.tail};
  const auto found = std::ranges::find(entries, EntryKey{StoredKind::ends, 0}, &StoreEntry::key);
  FileEnds out;
  if (found == entries.end() || found->payload.size() != sizeof(out) || columns::crc32c(found->payload) != found->crc)
    return std::nullopt;
  std::memcpy(&out, found->payload.data(), sizeof(out));
  return out;
}

std::pair<io::ByteRange, io::ByteRange> FileEnds::ranges(std::int64_t size) {
  const std::int64_t bytes = std::min(size, end_bytes);
  return {{.offset = 0, .bytes = bytes}, {.offset = size - bytes, .bytes = bytes}};
}

std::vector<std::byte> FileEnds::image() const {
  std::vector<std::byte> out(sizeof(*this));
  std::memcpy(out.data(), this, sizeof(*this));
  return out;
}

}  // namespace forebay::engine
