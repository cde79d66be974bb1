// SPDX-License-Identifier: Apache-2.0
#include "sources/detect.h"

#include <array>
#include <utility>

#include "sources/frame.h"

namespace forebay::sources {
namespace {

constexpr std::size_t head_bytes = 64;

unsigned at(std::span<const std::byte> head, std::size_t i) { return std::to_integer<unsigned>(head[i]); }

bool gzip(std::span<const std::byte> head) { return head.size() >= 2 && at(head, 0) == 0x1f && at(head, 1) == 0x8b; }

/// A frame, or a skippable one, which may come before the first.
bool zstd(std::span<const std::byte> head) {
  if (head.size() < 4) return false;
  if (at(head, 0) == 0x28 && at(head, 1) == 0xb5 && at(head, 2) == 0x2f && at(head, 3) == 0xfd) return true;
  return (at(head, 0) & 0xf0) == 0x50 && at(head, 1) == 0x2a && at(head, 2) == 0x4d && at(head, 3) == 0x18;
}

bool bzip2(std::span<const std::byte> head) {
  constexpr std::array<unsigned, 6> block{0x31, 0x41, 0x59, 0x26, 0x53, 0x59};  // or the end of an empty stream
  constexpr std::array<unsigned, 6> end{0x17, 0x72, 0x45, 0x38, 0x50, 0x90};
  if (head.size() < 10 || at(head, 0) != 'B' || at(head, 1) != 'Z' || at(head, 2) != 'h') return false;
  const auto same = [&](std::size_t i, unsigned byte) { return at(head, 4 + i) == byte; };
  bool begins = true;
  bool ends = true;
  for (std::size_t i = 0; i < block.size(); ++i) {
    begins = begins && same(i, block[i]);
    ends = ends && same(i, end[i]);
  }
  return at(head, 3) >= '1' && at(head, 3) <= '9' && (begins || ends);
}

bool xz(std::span<const std::byte> head) {
  constexpr std::array<unsigned, 6> magic{0xfd, '7', 'z', 'X', 'Z', 0};
  if (head.size() < magic.size()) return false;
  for (std::size_t i = 0; i < magic.size(); ++i)
    if (at(head, i) != magic[i]) return false;
  return true;
}

/// What the first bytes show beyond doubt.
Compression by_magic(std::span<const std::byte> head) {
  if (gzip(head)) return Compression::gzip;
  if (zstd(head)) return Compression::zstd;
  if (bzip2(head)) return Compression::bzip2;
  return xz(head) ? Compression::xz : Compression::none;
}

bool zlib(std::span<const std::byte> head) {
  if (head.size() < 2) return false;
  const unsigned method = at(head, 0);
  return (method & 0x0f) == 8 && (method >> 4) <= 7 && (method * 256 + at(head, 1)) % 31 == 0;
}

}  // namespace

bool is_record_header(std::span<const std::byte> head) {
  return head.size() >= header_bytes && length_checksum(length_at(head.data())) == checksum_at(head.data() + 8);
}

Compression compression_by_magic(std::span<const std::byte> head) { return by_magic(head); }

std::string_view file_kind(std::span<const std::byte> head) {
  using namespace std::string_view_literals;
  constexpr std::array kinds{
      std::pair{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file, which is not read; convert it to npy"sv},
      std::pair{"ARROW1\0\0"sv, "an Arrow file, which is not read here"sv},
      std::pair{"PAR1\x15"sv, "a Parquet file, which is not read here"sv},
      std::pair{"\x93NUMPY"sv, "an npy file: use the source npy"sv},
      std::pair{"PK\x03\x04"sv, "a zip file: an npz file has a source of its own, npz"sv},
      std::pair{"SQLite format 3\0"sv, "an SQLite file, which is not read"sv},
      std::pair{"\x04\x22\x4d\x18"sv, "lz4 data, which is not read: decompress it, or compress it as gzip"sv}};
  const std::string_view text{reinterpret_cast<const char*>(head.data()), head.size()};
  for (const auto& [magic, name] : kinds)
    if (text.starts_with(magic)) return name;
  return {};
}

Compression detect_tfrecord(std::span<const std::byte> head) {
  if (is_record_header(head)) return Compression::none;
  const Compression found = by_magic(head);
  return found == Compression::none && zlib(head) ? Compression::zlib : found;
}

Result<Compression> compression_of(const io::RandomAccessFile& file, Compression asked, const Format& format) {
  if (asked != Compression::automatic) return asked;
  std::array<std::byte, head_bytes> head;
  FOREBAY_TRY(const std::size_t size, file.read(head, 0));
  return format.detect(std::span{head}.first(size));
}

std::string_view magic_of(std::span<const std::byte> head) {
  if (gzip(head)) return "gzip data (1f 8b)";
  if (zstd(head)) return "zstd data";
  if (bzip2(head)) return "bzip2 data";
  if (xz(head)) return "xz data";
  if (zlib(head)) return "zlib data (78)";
  return {};
}

}  // namespace forebay::sources

namespace forebay {

Compression Format::detect(std::span<const std::byte> head) const { return sources::by_magic(head); }

}  // namespace forebay
