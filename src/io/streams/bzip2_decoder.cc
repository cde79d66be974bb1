// SPDX-License-Identifier: Apache-2.0
#include <bzlib.h>

#include <algorithm>

#include "io/streams/stream_decoder.h"

namespace forebay::io {
namespace {

constexpr std::uint32_t max_bzip2_output = std::uint32_t{1} << 30;
constexpr std::int64_t bytes_per_level = 400'000;  // of memory: four bytes for each byte of a block

class Bzip2Decoder final : public StreamDecoder {
 public:
  Bzip2Decoder() = default;
  Bzip2Decoder(const Bzip2Decoder&) = delete;
  Bzip2Decoder& operator=(const Bzip2Decoder&) = delete;
  ~Bzip2Decoder() override { close(); }

  std::optional<StreamFault> begin(const CompressedInput& input) override {
    close();
    stream_ = {};
    if (::BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) return no_memory();
    open_ = true;
    level_ = input.unused().size() > 3 ? input.unused()[3] - '0' : 0;
    return {};
  }

  Step decode(CompressedInput& input, std::span<std::byte> out, Blocks /*blocks*/) override {
    const auto room = static_cast<unsigned>(std::min<std::size_t>(out.size(), max_bzip2_output));
    stream_.next_in = reinterpret_cast<char*>(input.next());
    stream_.avail_in = input.available();
    stream_.next_out = reinterpret_cast<char*>(out.data());
    stream_.avail_out = room;
    const int code = ::BZ2_bzDecompress(&stream_);
    input.advance(input.available() - stream_.avail_in);
    const std::size_t made = room - stream_.avail_out;
    if (code == BZ_MEM_ERROR) return {.made = made, .fault = no_memory()};
    if (code != BZ_OK && code != BZ_STREAM_END)
      return {.made = made, .fault = {{"corrupt bzip2 data: wrong checksum or structure"}}};
    return {.made = made, .ended = code == BZ_STREAM_END};
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(sizeof(*this)) + level_ * bytes_per_level;
  }

 private:
  void close() {
    if (open_) ::BZ2_bzDecompressEnd(&stream_);
    open_ = false;
    level_ = 0;
  }

  static StreamFault no_memory() { return {"no memory for decompression", Code::io, Detail::resource_exhausted}; }

  bz_stream stream_{};
  bool open_ = false;
  std::int64_t level_ = 0;  // hundreds of thousands of bytes of a block
};

}  // namespace

std::unique_ptr<StreamDecoder> bzip2_decoder() { return std::make_unique<Bzip2Decoder>(); }

}  // namespace forebay::io
