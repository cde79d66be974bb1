// SPDX-License-Identifier: Apache-2.0
#include "io/streams/stream_encoder.h"

#include <bzlib.h>
#include <lzma.h>
#include <zstd.h>

namespace forebay::io {
namespace {

constexpr std::size_t encoder_room = 64 * 1024;  // bytes of output of one call

Error no_encoder_memory() { return {Code::io, Detail::resource_exhausted, "no memory for compression"}; }

/// Calls `step` with room for output until it returns false. `step` lowers `room_left`.
template <class Step>
Result<void> encode_steps(std::vector<std::byte>& out, Step step) {
  for (bool more = true; more;) {
    const std::size_t before = out.size();
    out.resize(before + encoder_room);
    std::size_t room_left = encoder_room;
    FOREBAY_TRY(more, step(out.data() + before, room_left));
    out.resize(before + encoder_room - room_left);
  }
  return {};
}

class ZstdEncoder final : public StreamEncoder {
 public:
  explicit ZstdEncoder(std::optional<int> level) : context_{::ZSTD_createCCtx()} {
    if (context_ == nullptr) return;
    ::ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
    if (level) ::ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, *level);
  }
  ZstdEncoder(const ZstdEncoder&) = delete;
  ZstdEncoder& operator=(const ZstdEncoder&) = delete;
  ~ZstdEncoder() override { ::ZSTD_freeCCtx(context_); }

  Result<void> write(std::span<const std::byte> bytes, End end, std::vector<std::byte>& out) override {
    if (context_ == nullptr) return no_encoder_memory();
    const ZSTD_EndDirective directive = end == End::stream_ends ? ZSTD_e_end : ZSTD_e_continue;
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    return encode_steps(out, [&](std::byte* room, std::size_t& room_left) -> Result<bool> {
      ZSTD_outBuffer to{room, room_left, 0};
      const std::size_t left = ::ZSTD_compressStream2(context_, &to, &in, directive);
      room_left -= to.pos;
      if (::ZSTD_isError(left) != 0) return Error{Code::internal, "zstd refused to compress"};
      return end == End::stream_ends ? left != 0 : in.pos < in.size;
    });
  }

 private:
  ZSTD_CCtx* const context_;  // null: no memory
};

class Bzip2Encoder final : public StreamEncoder {
 public:
  explicit Bzip2Encoder(std::optional<int> level) : level_{level.value_or(9)} {}
  Bzip2Encoder(const Bzip2Encoder&) = delete;
  Bzip2Encoder& operator=(const Bzip2Encoder&) = delete;
  ~Bzip2Encoder() override { close(); }

  Result<void> write(std::span<const std::byte> bytes, End end, std::vector<std::byte>& out) override {
    if (!open_ && ::BZ2_bzCompressInit(&stream_, level_, 0, 0) != BZ_OK) return no_encoder_memory();
    open_ = true;
    stream_.next_in = reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data()));
    stream_.avail_in = static_cast<unsigned>(bytes.size());
    const bool ends = end == End::stream_ends;
    if (bytes.empty() && !ends) return {};
    FOREBAY_DO(encode_steps(out, [&](std::byte* room, std::size_t& room_left) -> Result<bool> {
      stream_.next_out = reinterpret_cast<char*>(room);
      stream_.avail_out = static_cast<unsigned>(room_left);
      const int code = ::BZ2_bzCompress(&stream_, ends ? BZ_FINISH : BZ_RUN);
      room_left = stream_.avail_out;
      if (code < 0) return Error{Code::internal, "bzip2 refused to compress"};
      return ends ? code != BZ_STREAM_END : stream_.avail_in > 0;
    }));
    if (ends) close();
    return {};
  }

 private:
  void close() {
    if (open_) ::BZ2_bzCompressEnd(&stream_);
    open_ = false;
    stream_ = {};
  }

  const int level_;
  bz_stream stream_{};
  bool open_ = false;
};

class XzEncoder final : public StreamEncoder {
 public:
  explicit XzEncoder(std::optional<int> level)
      : level_{level ? static_cast<std::uint32_t>(*level) : LZMA_PRESET_DEFAULT} {}
  XzEncoder(const XzEncoder&) = delete;
  XzEncoder& operator=(const XzEncoder&) = delete;
  ~XzEncoder() override { ::lzma_end(&stream_); }

  Result<void> write(std::span<const std::byte> bytes, End end, std::vector<std::byte>& out) override {
    if (!open_ && ::lzma_easy_encoder(&stream_, level_, LZMA_CHECK_CRC64) != LZMA_OK) return no_encoder_memory();
    open_ = true;
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    stream_.avail_in = bytes.size();
    const bool ends = end == End::stream_ends;
    FOREBAY_DO(encode_steps(out, [&](std::byte* room, std::size_t& room_left) -> Result<bool> {
      stream_.next_out = reinterpret_cast<std::uint8_t*>(room);
      stream_.avail_out = room_left;
      const lzma_ret code = ::lzma_code(&stream_, ends ? LZMA_FINISH : LZMA_RUN);
      room_left = stream_.avail_out;
      if (code == LZMA_MEM_ERROR) return no_encoder_memory();
      if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR)
        return Error{Code::internal, "xz refused to compress"};
      return ends ? code != LZMA_STREAM_END : stream_.avail_in > 0;
    }));
    if (ends) open_ = false;
    return {};
  }

 private:
  const std::uint32_t level_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool open_ = false;
};

}  // namespace

std::unique_ptr<StreamEncoder> stream_encoder(Compression compression, std::optional<int> level) {
  if (compression == Compression::zstd) return std::make_unique<ZstdEncoder>(level);
  if (compression == Compression::bzip2) return std::make_unique<Bzip2Encoder>(level);
  if (compression == Compression::xz) return std::make_unique<XzEncoder>(level);
  return nullptr;
}

}  // namespace forebay::io
