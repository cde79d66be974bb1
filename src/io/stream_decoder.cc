// SPDX-License-Identifier: Apache-2.0
#include "io/stream_decoder.h"

#include <cstring>

namespace forebay::io {

Result<void> CompressedInput::refill(const File& file) {
  std::uint8_t* const base = buffer_ + past_bytes;
  std::memmove(buffer_, next_ + available_ - past_bytes, past_bytes);
  FOREBAY_TRY(const std::size_t got, file.read_some(std::as_writable_bytes(std::span{base, piece_bytes}), read_));
  read_ += static_cast<std::int64_t>(got);
  at_end_ = got == 0 || (got < piece_bytes && read_ >= file.size());  // else the next read fails, or there is more
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

std::string_view name_of(Compression compression) { return compression == Compression::gzip ? "gzip" : "zlib"; }

bool can_begin(Compression compression, std::span<const std::uint8_t> head) {
  if (compression == Compression::gzip) return head[0] == 0x1f && (head.size() < 2 || head[1] == 0x8b);
  if ((head[0] & 0x0f) != 8 || (head[0] >> 4) > 7) return false;
  return head.size() < 2 || (head[0] * 256 + head[1]) % 31 == 0;
}

}  // namespace forebay::io
