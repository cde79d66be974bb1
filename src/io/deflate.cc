// SPDX-License-Identifier: Apache-2.0
#include "io/deflate.h"

#include <algorithm>

#include <zlib.h>

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

}  // namespace

struct Deflater::State {
  z_stream stream{};
  ~State() { ::deflateEnd(&stream); }
};

Deflater::Deflater(std::unique_ptr<State> state) : state_{std::move(state)} {}
Deflater::Deflater(Deflater&&) noexcept = default;
Deflater& Deflater::operator=(Deflater&&) noexcept = default;
Deflater::~Deflater() = default;

Result<Deflater> Deflater::make(Compression compression) {
  if (compression != Compression::gzip && compression != Compression::zlib) {
    return Error{Code::internal, "only gzip and zlib can be compressed"};
  }
  auto state = std::make_unique<State>();
  const int window = compression == Compression::gzip ? 15 + 16 : 15;
  if (::deflateInit2(&state->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return Error{Code::io, Detail::resource_exhausted, "no memory for compression"};
  }
  return Deflater{std::move(state)};
}

Result<void> Deflater::write(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
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
  state_->stream.avail_in = 0;
  return drain(state_->stream, Z_FINISH, out);
}

}  // namespace forebay::io
