// SPDX-License-Identifier: Apache-2.0
#include "io/stream_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>

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

bool zstd_magic(std::span<const std::uint8_t> head) {
  constexpr std::array<std::uint8_t, 4> frame{0x28, 0xb5, 0x2f, 0xfd};
  constexpr std::array<std::uint8_t, 4> skippable{0x50, 0x2a, 0x4d, 0x18};  // the first byte: 0x50 … 0x5f
  std::array<std::uint8_t, 4> found{};
  const std::size_t size = std::min(head.size(), found.size());
  std::copy_n(head.begin(), size, found.begin());
  if (std::equal(found.begin(), found.begin() + size, frame.begin())) return true;
  found[0] &= 0xf0;
  return std::equal(found.begin(), found.begin() + size, skippable.begin());
}

}  // namespace

bool can_begin(Compression compression, std::span<const std::uint8_t> head) {
  if (compression == Compression::zstd) return zstd_magic(head);
  if (compression == Compression::gzip) return head[0] == 0x1f && (head.size() < 2 || head[1] == 0x8b);
  if ((head[0] & 0x0f) != 8 || (head[0] >> 4) > 7) return false;
  return head.size() < 2 || (head[0] * 256 + head[1]) % 31 == 0;
}

}  // namespace forebay::io
