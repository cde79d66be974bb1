// SPDX-License-Identifier: Apache-2.0
#include "io/deflate.h"

#include <algorithm>

#include <zlib.h>
#include <zstd.h>

namespace forebay::io {
namespace {

constexpr std::size_t room_bytes = 64 * 1024;
constexpr std::size_t max_input_per_call = std::size_t{1} << 30;

Result<void> drain(z_stream& stream, int flush, std::vector<std::byte>& out) {
  do {
    const std::size_t before = out.size();
    out.resize(before + room_bytes);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = room_bytes;
    const int code = ::deflate(&stream, flush);
    out.resize(before + room_bytes - stream.avail_out);
    if (code == Z_STREAM_ERROR) return Error{Code::internal, "zlib refused to compress"};
  } while (stream.avail_out == 0);
  return {};
}

constexpr std::size_t frame_bytes = std::size_t{2} << 20;  // bytes of content: as many as between restart points

Result<void> compress_frame(ZSTD_CCtx* context, std::span<const std::byte> bytes, ZSTD_EndDirective end,
                            std::vector<std::byte>& out) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (bool more = true; more;) {
    const std::size_t before = out.size();
    out.resize(before + room_bytes);
    ZSTD_outBuffer to{out.data() + before, room_bytes, 0};
    const std::size_t left = ::ZSTD_compressStream2(context, &to, &in, end);
    out.resize(before + to.pos);
    if (::ZSTD_isError(left) != 0) return Error{Code::internal, "zstd refused to compress"};
    more = end == ZSTD_e_end ? left != 0 : in.pos < in.size;
  }
  return {};
}

}  // namespace

struct Deflater::State {
  explicit State(Compression compression_) : compression{compression_} {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    ::deflateEnd(&stream);
    ::ZSTD_freeCCtx(zstd);
  }

  const Compression compression;
  z_stream stream{};
  ZSTD_CCtx* zstd = nullptr;
  std::size_t frame = 0;  ///< Bytes of content of the zstd frame so far.

  /// Returns false when there is no memory.
  bool open() {
    if (compression == Compression::zstd) {
      zstd = ::ZSTD_createCCtx();
      return zstd != nullptr && ::ZSTD_isError(::ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)) == 0;
    }
    const int window = compression == Compression::gzip ? 15 + 16 : 15;
    return ::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }

  Result<void> write_frames(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), frame_bytes - frame));
      frame += part.size();
      const bool full = frame == frame_bytes;
      FOREBAY_DO(compress_frame(zstd, part, full ? ZSTD_e_end : ZSTD_e_continue, out));
      if (full) frame = 0;
      bytes = bytes.subspan(part.size());
    }
    return {};
  }
};

Deflater::Deflater(std::unique_ptr<State> state) : state_{std::move(state)} {}
Deflater::Deflater(Deflater&&) noexcept = default;
Deflater& Deflater::operator=(Deflater&&) noexcept = default;
Deflater::~Deflater() = default;

Result<Deflater> Deflater::make(Compression compression) {
  if (compression == Compression::none || compression == Compression::automatic) {
    return Error{Code::internal, "only gzip, zlib and zstd can be written"};
  }
  auto state = std::make_unique<State>(compression);
  if (!state->open()) {
    return Error{Code::io, Detail::resource_exhausted, "no memory for compression"};
  }
  return Deflater{std::move(state)};
}

Result<void> Deflater::write(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  if (state_->zstd != nullptr) return state_->write_frames(bytes, out);
  z_stream& stream = state_->stream;
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), max_input_per_call);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(part);
    FOREBAY_DO(drain(stream, Z_NO_FLUSH, out));
    bytes = bytes.subspan(part);
  }
  return {};
}

Result<void> Deflater::finish(std::vector<std::byte>& out) {
  // An empty file gets one frame without content, which shows that it is zstd.
  if (state_->zstd != nullptr) return compress_frame(state_->zstd, {}, ZSTD_e_end, out);
  state_->stream.avail_in = 0;
  return drain(state_->stream, Z_FINISH, out);
}

}  // namespace forebay::io
