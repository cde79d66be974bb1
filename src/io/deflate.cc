// SPDX-License-Identifier: Apache-2.0
#include "io/deflate.h"

#include <algorithm>

#include <fmt/core.h>
#include <zlib.h>
#include <zstd.h>

#include "io/streams/stream_encoder.h"

namespace forebay::io {
namespace {

constexpr std::size_t room_bytes = 64 * 1024;
constexpr std::size_t max_input_per_call = std::size_t{1} << 30;
constexpr std::size_t stream_bytes = std::size_t{2} << 20;  // of content: as many as between restart points

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

}  // namespace

struct Deflater::State {
  State(Compression compression_, std::optional<std::int64_t> level_)
      : compression{compression_},
        level{level_ ? std::optional{static_cast<int>(*level_)} : std::nullopt},
        encoder{stream_encoder(compression, level)} {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ::deflateEnd(&stream); }

  const Compression compression;
  const std::optional<int> level;
  z_stream stream{};
  const std::unique_ptr<StreamEncoder> encoder;  ///< Null: gzip or zlib, by `stream`.
  std::size_t filled = 0;                        ///< Bytes of content of the current stream.
  bool any = false;                              ///< A stream was begun,
  bool open = false;                             ///< and not ended yet.

  /// Returns false when there is no memory.
  bool begin() {
    if (encoder) return true;
    const int window = compression == Compression::gzip ? 15 + 16 : 15;
    return ::deflateInit2(&stream, level.value_or(Z_DEFAULT_COMPRESSION), Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) ==
           Z_OK;
  }

  Result<void> write_streams(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), stream_bytes - filled));
      filled += part.size();
      const bool full = filled == stream_bytes;
      open = !full;
      FOREBAY_DO(
          encoder->write(part, full ? StreamEncoder::End::stream_ends : StreamEncoder::End::stream_goes_on, out));
      if (full) filled = 0;
      bytes = bytes.subspan(part.size());
    }
    return {};
  }
};

Deflater::Deflater(std::unique_ptr<State> state) : state_{std::move(state)} {}
Deflater::Deflater(Deflater&&) noexcept = default;
Deflater& Deflater::operator=(Deflater&&) noexcept = default;
Deflater::~Deflater() = default;

Result<Deflater> Deflater::make(Compression compression, std::optional<std::int64_t> level) {
  if (compression == Compression::none || compression == Compression::automatic) {
    return Error{Code::internal, "no compression was named"};
  }
  const int least = compression == Compression::zstd || compression == Compression::bzip2 ? 1 : 0;
  const int most = compression == Compression::zstd ? ::ZSTD_maxCLevel() : 9;
  if (level && (*level < least || *level > most)) {
    return Error{
        Code::config, Detail::invalid_argument,
        fmt::format("level: of {} it is {} to {}, found {}",
                    EnumNames<Compression>::names[static_cast<std::size_t>(compression)], least, most, *level)};
  }
  auto state = std::make_unique<State>(compression, level);
  if (!state->begin()) {
    return Error{Code::io, Detail::resource_exhausted, "no memory for compression"};
  }
  return Deflater{std::move(state)};
}

Result<void> Deflater::write(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  if (bytes.empty()) return {};
  state_->any = state_->open = true;
  if (state_->encoder) return state_->write_streams(bytes, out);
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
  // An empty file gets one stream without content, which shows the compression.
  if (state_->any && !state_->open) return {};
  state_->any = true;
  state_->open = false;
  state_->filled = 0;
  if (state_->encoder) return state_->encoder->write({}, StreamEncoder::End::stream_ends, out);
  state_->stream.avail_in = 0;
  FOREBAY_DO(drain(state_->stream, Z_FINISH, out));
  ::deflateReset(&state_->stream);
  return {};
}

}  // namespace forebay::io
