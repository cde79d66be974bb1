// SPDX-License-Identifier: Apache-2.0
#include <bzlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "io/streams/stream_decoder.h"

namespace forebay::io {
namespace {

constexpr std::size_t piece_bytes = 256 * 1024;
constexpr std::size_t kept_bytes = 2 << 20;        // of memory for the content of a block; that of a usual one is less
constexpr std::int64_t bytes_per_level = 400'000;  // of memory: four bytes for each byte of a block

/// Content comes block by block, each once its checksum was right: a block that is corrupt gives no byte.
///
/// libbz2 compares the checksum of a block when it has given the last byte of it, and before it takes a byte of the
/// next one. So it is called in two ways, by turns: without room, until it has read a block, and without input, until
/// it has given the block and asks for more.
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
    if (given_ == made_) {
      const int code = read_block(input);
      if (code == BZ_STREAM_END) return {.ended = true};
      if (code == BZ_MEM_ERROR) return {.fault = no_memory()};
      if (code != BZ_OK) return {.fault = {{"corrupt bzip2 data: wrong checksum or structure"}}};
    }
    const std::size_t now = std::min(out.size(), made_ - given_);
    if (now > 0) std::memcpy(out.data(), block_.data() + given_, now);
    given_ += now;
    if (given_ == made_ && block_.size() > kept_bytes) block_ = {};
    return {.made = now};
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(sizeof(*this) + block_.capacity()) + level_ * bytes_per_level;
  }

 private:
  /// Uses input, and fills `block_` once it is whole and right. The code of libbz2; BZ_OK without content asks for more
  /// input.
  int read_block(CompressedInput& input) {
    given_ = made_ = 0;
    char none = 0;
    stream_.next_out = &none;
    stream_.avail_out = 0;
    stream_.next_in = reinterpret_cast<char*>(input.next());
    stream_.avail_in = input.available();
    int code = ::BZ2_bzDecompress(&stream_);
    input.advance(input.available() - stream_.avail_in);
    std::size_t filled = 0;
    while (code == BZ_OK) {
      if (block_.size() < filled + piece_bytes) block_.resize(filled + std::max(filled, piece_bytes));
      const std::size_t room = block_.size() - filled;
      stream_.avail_in = 0;
      stream_.next_out = reinterpret_cast<char*>(block_.data() + filled);
      stream_.avail_out = static_cast<unsigned>(room);
      code = ::BZ2_bzDecompress(&stream_);
      filled += room - stream_.avail_out;
      if (code == BZ_OK && stream_.avail_out > 0) {
        made_ = filled;
        return code;
      }
    }
    return code;
  }

  void close() {
    if (open_) ::BZ2_bzDecompressEnd(&stream_);
    open_ = false;
    level_ = 0;
    given_ = made_ = 0;
  }

  static StreamFault no_memory() { return {"no memory for decompression", Code::io, Detail::resource_exhausted}; }

  bz_stream stream_{};
  bool open_ = false;
  std::int64_t level_ = 0;        // hundreds of thousands of bytes of a block
  std::vector<std::byte> block_;  // [0, made_): content of a block, of which [0, given_) was given
  std::size_t made_ = 0;
  std::size_t given_ = 0;
};

}  // namespace

std::unique_ptr<StreamDecoder> bzip2_decoder() { return std::make_unique<Bzip2Decoder>(); }

}  // namespace forebay::io
