// SPDX-License-Identifier: Apache-2.0
#include "io/identity.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace forebay::io {
namespace {

Result<std::uint64_t> hash_at(const RandomAccessFile& file, std::int64_t offset) {
  std::array<std::byte, FileIdentity::end_bytes> bytes;
  FOREBAY_TRY(const std::size_t got, file.read(bytes, offset));
  return fnv1a(std::span{bytes}.first(got));
}

}  // namespace

std::uint64_t fnv1a(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  return hash;
}

FileIdentity identity_of(const RandomAccessFile::Identity& version) {
  return {.size = version.size,
          .modified_ns = version.modified_ns,
          .head = version.version,
          .tail = FileIdentity::of_version};
}

Result<FileIdentity> identify(const RandomAccessFile& file) {
  if (file.identity().version != 0) return identity_of(file.identity());
  FOREBAY_TRY(const std::uint64_t head, hash_at(file, 0));
  const std::int64_t last = std::max<std::int64_t>(0, file.size() - FileIdentity::end_bytes);
  FOREBAY_TRY(const std::uint64_t tail, hash_at(file, last));
  return FileIdentity{
      .size = file.identity().size, .modified_ns = file.identity().modified_ns, .head = head, .tail = tail};
}

std::string difference(const FileIdentity& before, const FileIdentity& now) {
  if (before.size != now.size) return fmt::format("its size was {} bytes, now {}", before.size, now.size);
  if (before.modified_ns != now.modified_ns) return "its modification time changed";
  const bool of_versions = before.is_version() && now.is_version();
  if (of_versions && before.head != now.head) return "another version of it was put in its place";
  if (before.head != now.head) return "its first 4 KiB changed";
  return before.tail != now.tail ? "its last 4 KiB changed" : "";
}

}  // namespace forebay::io
