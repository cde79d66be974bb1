// SPDX-License-Identifier: Apache-2.0
#include "sources/stored/zip.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/core.h>
#include <zlib.h>

#include <forebay/messages.h>

namespace forebay::sources {
namespace {

// Sizes and places of the fields of a zip archive, in bytes (APPNOTE.TXT 4.3).
constexpr std::size_t local_bytes = 30;
constexpr std::size_t central_bytes = 46;
constexpr std::size_t end_bytes = 22;
constexpr std::size_t locator_bytes = 20;
constexpr std::size_t end64_bytes = 56;
constexpr std::size_t max_comment = 65'535;
constexpr std::uint64_t max_members = 65'536;
constexpr std::uint64_t in_extra = 0xffff'ffff;  // a size of this value stands in the zip64 field
constexpr std::uint64_t max_ratio = 1100;        // deflate makes at most 1,032 bytes of one

Error bad_zip(std::string why) { return {Code::data, Detail::data_loss, std::move(why)}; }

/// The unsigned number of `size` bytes at `at`, which are there.
std::uint64_t number(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t out = 0;
  for (std::size_t i = size; i-- > 0;) out = out << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  return out;
}

bool signed_with(std::span<const std::byte> bytes, std::size_t at, const char* mark) {
  return at + 4 <= bytes.size() && std::memcmp(bytes.data() + at, mark, 4) == 0;
}

struct Directory {
  std::uint64_t begin = 0, size = 0, members = 0;
};

/// The end record of zip64, if a locator stands before the end record at `end`.
Result<Directory> directory64(std::span<const std::byte> archive, std::size_t end) {
  const std::size_t locator = end - locator_bytes;
  const std::uint64_t at = number(archive, locator + 8, 8);
  if (at > locator || locator - at < end64_bytes || !signed_with(archive, static_cast<std::size_t>(at), "PK\x06\x06"))
    return bad_zip("the zip64 end record is not where its locator says");
  const auto begin = static_cast<std::size_t>(at);
  return Directory{.begin = number(archive, begin + 48, 8),
                   .size = number(archive, begin + 40, 8),
                   .members = number(archive, begin + 32, 8)};
}

Result<Directory> find_directory(std::span<const std::byte> archive) {
  if (archive.size() < end_bytes) return bad_zip("not a zip archive: it is too short");
  std::size_t end = archive.size() - end_bytes;
  const std::size_t least = end > max_comment ? end - max_comment : 0;
  while (!signed_with(archive, end, "PK\x05\x06")) {
    if (end == least) return bad_zip("not a zip archive, or cut short: it has no end record");
    --end;
  }
  Directory out{.begin = number(archive, end + 16, 4),
                .size = number(archive, end + 12, 4),
                .members = number(archive, end + 10, 2)};
  if (end >= locator_bytes && signed_with(archive, end - locator_bytes, "PK\x06\x07")) {
    FOREBAY_TRY(out, directory64(archive, end));
  }
  if (out.begin > end || out.size > end - out.begin) return bad_zip("its directory lies outside of the archive");
  if (out.members > max_members)
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("{} members; at most {} are allowed", out.members, max_members)};
  return out;
}

/// Replaces sizes that stand in the zip64 field of `extra`.
Result<void> sizes64(std::span<const std::byte> extra, std::vector<std::uint64_t*> sizes) {
  std::erase_if(sizes, [](const std::uint64_t* size) { return *size != in_extra; });
  if (sizes.empty()) return {};
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t id = number(extra, at, 2);
    const auto size = static_cast<std::size_t>(number(extra, at + 2, 2));
    at += 4;
    if (size > extra.size() - at) break;
    if (id != 1) {
      at += size;
      continue;
    }
    if (size < 8 * sizes.size()) break;
    for (std::uint64_t* each : sizes) {
      *each = number(extra, at, 8);
      at += 8;
    }
    return {};
  }
  return bad_zip("a zip64 field is missing or malformed");
}

/// Reads the local header at `begin` and compares it with the directory. Sets `stored`.
Result<void> read_local(std::span<const std::byte> archive, std::uint64_t begin, std::uint64_t compressed,
                        std::uint64_t method, std::uint64_t flags, ZipMember& member) {
  const auto differs = [&] { return bad_zip(fmt::format("the headers of member {} differ", quote(member.name))); };
  if (begin > archive.size() || archive.size() - begin < local_bytes) return differs();
  const auto at = static_cast<std::size_t>(begin);
  if (!signed_with(archive, at, "PK\x03\x04")) return differs();
  const auto name_size = static_cast<std::size_t>(number(archive, at + 26, 2));
  const auto extra_size = static_cast<std::size_t>(number(archive, at + 28, 2));
  const std::size_t head = local_bytes + name_size + extra_size;
  if (archive.size() - at < head || archive.size() - at - head < compressed) return differs();
  const auto name = archive.subspan(at + local_bytes, name_size);
  if (std::string_view{reinterpret_cast<const char*>(name.data()), name.size()} != member.name) return differs();
  std::uint64_t local_size = number(archive, at + 22, 4);
  std::uint64_t local_compressed = number(archive, at + 18, 4);
  const bool later = (number(archive, at + 6, 2) & 8) != 0;  // the sizes follow the content
  if (!later) {
    FOREBAY_DO(sizes64(archive.subspan(at + local_bytes + name_size, extra_size), {&local_size, &local_compressed}));
    if (local_size != member.size || local_compressed != compressed) return differs();
  }
  if (number(archive, at + 8, 2) != method || ((number(archive, at + 6, 2) ^ flags) & 1) != 0) return differs();
  member.stored = archive.subspan(at + head, static_cast<std::size_t>(compressed));
  return {};
}

Result<ZipMember> read_member(std::span<const std::byte> archive, std::span<const std::byte> directory,
                              std::size_t& at) {
  if (directory.size() - at < central_bytes || !signed_with(directory, at, "PK\x01\x02"))
    return bad_zip("its directory is malformed");
  const auto name_size = static_cast<std::size_t>(number(directory, at + 28, 2));
  const auto extra_size = static_cast<std::size_t>(number(directory, at + 30, 2));
  const auto comment_size = static_cast<std::size_t>(number(directory, at + 32, 2));
  const std::size_t all = central_bytes + name_size + extra_size + comment_size;
  if (directory.size() - at < all) return bad_zip("its directory is malformed");
  const auto name = directory.subspan(at + central_bytes, name_size);
  const std::uint64_t flags = number(directory, at + 8, 2);
  const std::uint64_t method = number(directory, at + 10, 2);
  ZipMember out{.name = {reinterpret_cast<const char*>(name.data()), name.size()},
                .deflated = method == 8,
                .checksum = static_cast<std::uint32_t>(number(directory, at + 16, 4)),
                .size = number(directory, at + 24, 4)};
  std::uint64_t compressed = number(directory, at + 20, 4);
  std::uint64_t begin = number(directory, at + 42, 4);
  FOREBAY_DO(sizes64(directory.subspan(at + central_bytes + name_size, extra_size), {&out.size, &compressed, &begin}));
  at += all;
  const auto refuse = [&](const char* why) { return bad_zip(fmt::format("member {} {}", quote(out.name), why)); };
  if ((flags & 1) != 0) return refuse("is encrypted, which is not read");
  if (method != 0 && method != 8) return refuse("has a compression that numpy does not write");
  if (method == 0 && compressed != out.size) return refuse("is stored, but has two sizes");
  if (out.size / max_ratio > compressed) return refuse("has more content than its bytes can hold");
  FOREBAY_DO(read_local(archive, begin, compressed, method, flags, out));
  return out;
}

Result<void> check_overlaps(const std::vector<ZipMember>& members) {
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  for (const ZipMember& each : members) {
    // The local header stands before the content.
    const std::byte* const begin = each.stored.data() - local_bytes - each.name.size();
    ranges.emplace_back(begin, each.stored.data() + each.stored.size());
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return Error{Code::data, Detail::resource_exhausted, "members of the archive overlap"};
  return {};
}

Result<void> inflate_member(const ZipMember& member, std::byte* out) {
  z_stream stream{};
  if (::inflateInit2(&stream, -15) != Z_OK)
    return Error{Code::io, Detail::resource_exhausted, "no memory for decompression"};
  constexpr std::uint64_t piece = std::uint64_t{1} << 30;
  std::uint64_t used = 0;
  std::uint64_t made = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    const std::uint64_t in = std::min<std::uint64_t>(piece, member.stored.size() - used);
    const std::uint64_t room = std::min<std::uint64_t>(piece, member.size - made);
    std::byte beyond{};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(member.stored.data() + used));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(room > 0 ? out + made : &beyond);
    stream.avail_out = room > 0 ? static_cast<uInt>(room) : 1;
    const uInt given = stream.avail_out;
    code = ::inflate(&stream, Z_NO_FLUSH);
    used += in - stream.avail_in;
    made += given - stream.avail_out;
    if (made > member.size) break;
    if (code == Z_BUF_ERROR || (code == Z_OK && used == member.stored.size() && stream.avail_out > 0)) break;
  }
  ::inflateEnd(&stream);
  if (code == Z_STREAM_END && made == member.size && used == member.stored.size()) return {};
  return bad_zip(fmt::format("member {} is corrupt, or has another size than the directory says", quote(member.name)));
}

std::uint32_t checksum_of_content(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(std::span<const std::byte> archive) {
  FOREBAY_TRY(const Directory found, find_directory(archive));
  const auto directory = archive.subspan(static_cast<std::size_t>(found.begin), static_cast<std::size_t>(found.size));
  std::vector<ZipMember> out;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < found.members; ++i) {
    FOREBAY_TRY(ZipMember member, read_member(archive, directory, at));
    out.push_back(std::move(member));
  }
  if (at != directory.size()) return bad_zip("its directory has more members than the end record says");
  FOREBAY_DO(check_overlaps(out));
  return out;
}

Result<Content> zip_content(const ZipMember& member, const Content& archive) {
  Content out{.owner = archive.owner, .bytes = member.stored};
  if (member.deflated) {
    const std::shared_ptr<std::byte[]> memory =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(member.size));
    FOREBAY_DO(inflate_member(member, memory.get()));
    out = {.owner = memory, .bytes = {memory.get(), static_cast<std::size_t>(member.size)}};
  }
  if (checksum_of_content(out.bytes) != member.checksum)
    return bad_zip(fmt::format("the checksum of member {} is wrong", quote(member.name)));
  return out;
}

}  // namespace forebay::sources
