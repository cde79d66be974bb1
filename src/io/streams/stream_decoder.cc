// SPDX-License-Identifier: Apache-2.0
#include "io/streams/stream_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

namespace forebay::io {

Result<void> CompressedInput::refill(const RandomAccessFile& file) {
  std::uint8_t* const base = buffer_ + past_bytes;
  std::memmove(buffer_, next_ + available_ - past_bytes, past_bytes);
  FOREBAY_TRY(const std::size_t got, file.read_some(std::as_writable_bytes(std::span{base, piece_bytes}), read_));
  read_ += static_cast<std::int64_t>(got);
  at_end_ = got == 0 || (got < piece_bytes && read_ >= file.size());  // else more bytes follow, or the next read fails
  next_ = base - available_;
  available_ += static_cast<std::uint32_t>(got);
  return {};
}

void CompressedInput::seek(std::int64_t offset) {
  read_ = offset;
  at_end_ = false;
  available_ = 0;
  next_ = buffer_ + past_bytes;
}

std::string_view name_of(Compression compression) {
  return EnumNames<Compression>::names[static_cast<std::size_t>(compression)];
}

namespace {

using Magic = std::array<std::uint8_t, 4>;

/// Whether `head` and `magic` are equal as far as `head` goes.
bool begins_like(std::span<const std::uint8_t> head, const Magic& magic) {
  return std::equal(head.begin(), head.begin() + std::min(std::ssize(head), std::ssize(magic)), magic.begin());
}

bool zstd_magic(std::span<const std::uint8_t> head) {
  if (begins_like(head, {0x28, 0xb5, 0x2f, 0xfd})) return true;
  const auto skippable = static_cast<std::uint8_t>(head[0] & 0x0f);  // the first byte: 0x50 … 0x5f
  return begins_like(head, {static_cast<std::uint8_t>(0x50 | skippable), 0x2a, 0x4d, 0x18});
}

bool bzip2_magic(std::span<const std::uint8_t> head) {
  const std::uint8_t level = head.size() < 4 ? std::uint8_t{'1'} : head[3];
  return '1' <= level && level <= '9' && begins_like(head, {'B', 'Z', 'h', level});
}

}  // namespace

bool can_begin(Compression compression, std::span<const std::uint8_t> head) {
  if (compression == Compression::zstd) return zstd_magic(head);
  if (compression == Compression::bzip2) return bzip2_magic(head);
  if (compression == Compression::xz) return begins_like(head, {0xfd, '7', 'z', 'X'});
  if (compression == Compression::gzip) return head[0] == 0x1f && (head.size() < 2 || head[1] == 0x8b);
  if ((head[0] & 0x0f) != 8 || (head[0] >> 4) > 7) return false;
  return head.size() < 2 || (head[0] * 256 + head[1]) % 31 == 0;
}

}  // namespace forebay::io
