// SPDX-License-Identifier: Apache-2.0
#include "sources/stored/zip.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/core.h>
#include <zlib.h>

#include <forebay/column.h>
#include <forebay/messages.h>

#include "sources/stored/bytes_as_file.h"
#include "sources/stored/content.h"

namespace forebay::sources {
namespace {

// Sizes and places of the fields of a zip archive, in bytes (APPNOTE.TXT 4.3).
constexpr std::size_t piece_of_member = std::size_t{256} << 10;  // compressed bytes that are read at once
constexpr std::size_t local_bytes = 30;
constexpr std::size_t central_bytes = 46;
constexpr std::size_t end_bytes = 22;
constexpr std::size_t locator_bytes = 20;
constexpr std::size_t end64_bytes = 56;
constexpr std::size_t max_comment = 65'535;
constexpr std::uint64_t max_members = 65'536;
constexpr std::uint64_t max_directory = std::uint64_t{64} << 20;
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

/// Bytes of the archive from `begin` on, which are in it.
Result<std::vector<std::byte>> read_bytes(const io::RandomAccessFile& archive, std::uint64_t begin,
                                          std::uint64_t size) {
  std::vector<std::byte> out(static_cast<std::size_t>(size));
  FOREBAY_TRY(const std::size_t got, archive.read(out, static_cast<std::int64_t>(begin)));
  if (got < size) return Error{Code::data, Detail::failed_precondition, "the file was cut short while it was read"};
  return out;
}

/// The end record of zip64, whose locator is at `locator` of `tail`, which begins at `tail_begin` of the archive.
Result<Directory> directory64(const io::RandomAccessFile& archive, std::span<const std::byte> tail, std::size_t locator,
                              std::uint64_t tail_begin) {
  const std::uint64_t at = number(tail, locator + 8, 8);
  const std::uint64_t end = tail_begin + locator;
  const auto wrong = [] { return bad_zip("the zip64 end record is not where its locator says"); };
  if (at > end || end - at < end64_bytes) return wrong();
  FOREBAY_TRY(const std::vector<std::byte> record, read_bytes(archive, at, end64_bytes));
  if (!signed_with(record, 0, "PK\x06\x06")) return wrong();
  return Directory{.begin = number(record, 48, 8), .size = number(record, 40, 8), .members = number(record, 32, 8)};
}

Result<Directory> find_directory(const io::RandomAccessFile& archive) {
  const auto size = static_cast<std::uint64_t>(archive.size());
  if (size < end_bytes) return bad_zip("not a zip archive: it is too short");
  const std::uint64_t tail_begin = size - std::min<std::uint64_t>(size, end_bytes + max_comment + locator_bytes);
  FOREBAY_TRY(const std::vector<std::byte> tail, read_bytes(archive, tail_begin, size - tail_begin));
  std::size_t end = tail.size() - end_bytes;
  const std::size_t least = end > max_comment ? end - max_comment : 0;
  while (!signed_with(tail, end, "PK\x05\x06")) {
    if (end == least) return bad_zip("not a zip archive, or cut short: it has no end record");
    --end;
  }
  Directory out{
      .begin = number(tail, end + 16, 4), .size = number(tail, end + 12, 4), .members = number(tail, end + 10, 2)};
  if (end >= locator_bytes && signed_with(tail, end - locator_bytes, "PK\x06\x07")) {
    FOREBAY_TRY(out, directory64(archive, tail, end - locator_bytes, tail_begin));
  }
  const std::uint64_t last = tail_begin + end;
  if (out.begin > last || out.size > last - out.begin) return bad_zip("its directory lies outside of the archive");
  if (out.members > max_members)
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("{} members; at most {} are allowed", out.members, max_members)};
  if (out.size > max_directory)
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("a directory of {} bytes; at most {} are allowed", out.size, max_directory)};
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

/// Reads the local header at `begin` and compares it with the directory. Sets `begin` of the member.
Result<void> read_local(const io::RandomAccessFile& archive, std::uint64_t begin, std::uint64_t method,
                        std::uint64_t flags, ZipMember& member) {
  const auto differs = [&] { return bad_zip(fmt::format("the headers of member {} differ", quote(member.name))); };
  const auto size = static_cast<std::uint64_t>(archive.size());
  if (begin > size || size - begin < local_bytes) return differs();
  FOREBAY_TRY(const std::vector<std::byte> head, read_bytes(archive, begin, local_bytes));
  if (!signed_with(head, 0, "PK\x03\x04")) return differs();
  const auto name_size = static_cast<std::size_t>(number(head, 26, 2));
  const auto extra_size = static_cast<std::size_t>(number(head, 28, 2));
  const std::uint64_t all = local_bytes + name_size + extra_size;
  const auto compressed = static_cast<std::uint64_t>(member.stored);
  if (size - begin < all || size - begin - all < compressed) return differs();
  FOREBAY_TRY(const std::vector<std::byte> rest, read_bytes(archive, begin + local_bytes, name_size + extra_size));
  const auto name = std::span{rest}.first(name_size);
  if (std::string_view{reinterpret_cast<const char*>(name.data()), name.size()} != member.name) return differs();
  std::uint64_t local_size = number(head, 22, 4);
  std::uint64_t local_compressed = number(head, 18, 4);
  const bool later = (number(head, 6, 2) & 8) != 0;  // the sizes follow the content
  if (!later) {
    FOREBAY_DO(sizes64(std::span{rest}.subspan(name_size), {&local_size, &local_compressed}));
    if (local_size != member.size || local_compressed != compressed) return differs();
  }
  if (number(head, 8, 2) != method || ((number(head, 6, 2) ^ flags) & 1) != 0) return differs();
  member.begin = static_cast<std::int64_t>(begin + all);
  return {};
}

Result<ZipMember> read_member(const io::RandomAccessFile& archive, std::span<const std::byte> directory,
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
  if (compressed > static_cast<std::uint64_t>(archive.size())) return refuse("has more bytes than the archive");
  out.stored = static_cast<std::int64_t>(compressed);
  FOREBAY_DO(read_local(archive, begin, method, flags, out));
  return out;
}

Result<void> check_overlaps(const std::vector<ZipMember>& members) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const ZipMember& each : members) {
    // The local header stands before the content.
    const std::int64_t begin = each.begin - std::int64_t{local_bytes} - std::ssize(each.name);
    ranges.emplace_back(begin, each.begin + each.stored);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return Error{Code::data, Detail::resource_exhausted, "members of the archive overlap"};
  return {};
}

/// Decompresses a member piece by piece. Its owner calls `read` until it returns fewer bytes than were asked for.
class MemberInflater {
 public:
  MemberInflater(const ZipMember& member, const io::RandomAccessFile& archive)
      : archive_{archive}, next_{member.begin}, rest_{member.stored}, ready_{::inflateInit2(&stream_, -15) == Z_OK} {}
  MemberInflater(const MemberInflater&) = delete;
  MemberInflater& operator=(const MemberInflater&) = delete;
  ~MemberInflater() {
    if (ready_) ::inflateEnd(&stream_);
  }

  /// Whether the content ended, and all bytes of the member were used.
  [[nodiscard]] bool complete() const { return code_ == Z_STREAM_END && rest_ == 0 && stream_.avail_in == 0; }

  /// Fills `out`, which has at most 1 GiB. Fewer bytes come at the end and before a fault.
  Result<std::size_t> read(std::span<std::byte> out) {
    if (!ready_) return Error{Code::io, Detail::resource_exhausted, "no memory for decompression"};
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (code_ == Z_OK && stream_.avail_out > 0) {
      if (stream_.avail_in == 0) FOREBAY_DO(refill());
      if (stream_.avail_in == 0) break;
      code_ = ::inflate(&stream_, Z_NO_FLUSH);
    }
    return out.size() - stream_.avail_out;
  }

 private:
  Result<void> refill() {
    input_.resize(piece_of_member);
    const auto wanted =
        std::span{input_}.first(static_cast<std::size_t>(std::min<std::int64_t>(rest_, std::int64_t{piece_of_member})));
    if (wanted.empty()) return {};
    FOREBAY_TRY(const std::size_t got, archive_.read(wanted, next_));
    next_ += static_cast<std::int64_t>(got);
    rest_ -= static_cast<std::int64_t>(got);
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return {};
  }

  const io::RandomAccessFile& archive_;
  std::int64_t next_;
  std::int64_t rest_;
  std::vector<std::byte> input_;
  z_stream stream_{};
  int code_ = Z_OK;
  bool ready_;
};

Result<void> inflate_member(const ZipMember& member, const io::RandomAccessFile& archive, std::byte* out,
                            PartFiles& run) {
  MemberInflater inflater{member, archive};
  std::uint64_t made = 0;
  while (made < member.size) {
    run.look();
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(StopCheck::interval, member.size - made));
    FOREBAY_TRY(const std::size_t got, inflater.read({out + made, piece}));
    made += got;
    if (got < piece) break;
  }
  std::byte beyond{};
  FOREBAY_TRY(const std::size_t more, inflater.read({&beyond, 1}));
  if (made == member.size && more == 0 && inflater.complete()) return {};
  return bad_zip(fmt::format("member {} is corrupt, or has another size than the directory says", quote(member.name)));
}

std::uint32_t checksum_of_content(std::span<const std::byte> bytes, PartFiles& run) {
  uLong out = ::crc32_z(0, nullptr, 0);
  while (!bytes.empty()) {
    run.look();
    const auto piece = bytes.first(std::min(bytes.size(), StopCheck::interval));
    out = ::crc32_z(out, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
    bytes = bytes.subspan(piece.size());
  }
  return static_cast<std::uint32_t>(out);
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(const io::RandomAccessFile& archive) {
  FOREBAY_TRY(const Directory found, find_directory(archive));
  FOREBAY_TRY(const std::vector<std::byte> directory, read_bytes(archive, found.begin, found.size));
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

Result<std::vector<std::byte>> zip_head(const ZipMember& member, const io::RandomAccessFile& archive,
                                        std::size_t count) {
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, member.size));
  if (!member.deflated) return read_bytes(archive, static_cast<std::uint64_t>(member.begin), count);
  std::vector<std::byte> out(count);
  MemberInflater inflater{member, archive};
  FOREBAY_TRY(const std::size_t got, inflater.read(out));
  out.resize(got);
  return out;
}

Result<Content> zip_content(const ZipMember& member, const std::string& path, const Content& archive, PartFiles& run) {
  const auto size = static_cast<std::size_t>(member.size);
  Content out = archive;
  if (member.deflated) {
    FOREBAY_TRY(const std::shared_ptr<std::byte> memory, run.memory(static_cast<std::int64_t>(size)));
    FOREBAY_DO(inflate_member(member, BytesAsFile{path, archive.bytes}, memory.get(), run));
    out = {.owner = memory, .bytes = {memory.get(), size}};
  } else {
    out.bytes = archive.bytes.subspan(static_cast<std::size_t>(member.begin), size);
  }
  if (checksum_of_content(out.bytes, run) != member.checksum)
    return bad_zip(fmt::format("the checksum of member {} is wrong", quote(member.name)));
  return out;
}

}  // namespace forebay::sources
