// SPDX-License-Identifier: Apache-2.0
// zlib by its documented interface: inflate() with Z_BLOCK stops after the header of a stream and where a deflate block
// ends, and data_type has the position in the byte. After the header, zlib decodes raw deflate data. ISA-L computes the
// checksum, which saves a fifth of the time.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <zlib.h>

#include "io/streams/stream_decoder.h"

namespace forebay::io {
namespace {

constexpr std::size_t max_output = std::size_t{1} << 30;  // bytes of one call
constexpr std::size_t scratch_bytes = 64 * 1024;
constexpr int raw_deflate = -15;
constexpr int unused_bits = 7;     // masks of data_type: bits of the last byte used that belong to the next block,
constexpr int last_block = 64;     // the block that ended, or is decoded, is the last one of its stream,
constexpr int end_of_block = 128;  // a block has just ended (or the header of the stream has)

class BlockFinder final : public StreamDecoder {
 public:
  explicit BlockFinder(Compression compression) : compression_{compression} {}
  BlockFinder(const BlockFinder&) = delete;
  BlockFinder& operator=(const BlockFinder&) = delete;
  ~BlockFinder() override {
    if (ready_) ::inflateEnd(&stream_);
  }

  std::optional<StreamFault> begin(const CompressedInput& input) override {
    if (!judge_) judge_ = isal_decoder(compression_);
    judging_ = false;
    if (auto fault = judge_->begin(input)) return fault;
    begin_ = input.offset();
    made_ = 0;
    const int window = compression_ == Compression::gzip ? 15 + 16 : 15;
    const int code = ready_ ? ::inflateReset2(&stream_, window) : ::inflateInit2(&stream_, window);
    if (code != Z_OK) return no_memory();
    ready_ = true;
    part_ = Part::header;
    checksum_ = compression_ == Compression::gzip ? 0 : first_adler;
    trailer_size_ = 0;
    return {};
  }

  Step decode(CompressedInput& input, std::span<std::byte> out, Blocks blocks) override {
    if (judging_) return judge(input, out);
    if (part_ == Part::trailer) return read_trailer(input);
    if (part_ == Part::header) {
      out = {};
      blocks = Blocks::find;
    }
    std::byte nothing{};  // zlib needs an address even when there is no room
    stream_.next_in = input.next();
    stream_.avail_in = input.available();
    stream_.next_out = reinterpret_cast<Bytef*>(out.empty() ? &nothing : out.data());
    stream_.avail_out = static_cast<uInt>(std::min(out.size(), max_output));
    const uInt room = stream_.avail_out;
    const int code = ::inflate(&stream_, blocks == Blocks::find ? Z_BLOCK : Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) return {.fault = no_memory()};
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return refuse(input);
    input.advance(input.available() - stream_.avail_in);
    const bool between = (stream_.data_type & end_of_block) != 0 && (stream_.data_type & last_block) == 0;
    if (part_ == Part::header) {
      if (!between) return {};
      part_ = Part::blocks;
      return ::inflateReset2(&stream_, raw_deflate) == Z_OK ? Step{} : Step{.fault = no_memory()};
    }
    Step step{.made = room - stream_.avail_out};
    made_ += static_cast<std::int64_t>(step.made);
    checksum_ = checksum_of(compression_, checksum_, out.first(step.made));
    if (blocks == Blocks::find && between) step.block = block_here(input.offset());
    if (code == Z_STREAM_END) part_ = Part::trailer;
    return step;
  }

  [[nodiscard]] std::int64_t bytes() const override {
    constexpr std::int64_t zlib_state = 48 * 1024;  // bytes, from zlib's documentation
    return static_cast<std::int64_t>(sizeof(*this) + scratch_.capacity()) + zlib_state + (judge_ ? judge_->bytes() : 0);
  }

 private:
  static StreamFault no_memory() { return {"no memory for decompression", Code::io, Detail::resource_exhausted}; }

  /// Called when zlib refuses the stream. ISA-L decodes it again from its beginning and decides.
  Step refuse(CompressedInput& input) {
    input.seek(begin_);
    judging_ = true;
    return {.repeated = true};
  }

  Step read_trailer(CompressedInput& input) {
    const std::size_t wanted = compression_ == Compression::gzip ? 8 : 4;
    const std::size_t size = std::min<std::size_t>(wanted - trailer_size_, input.available());
    std::copy_n(input.next(), size, trailer_.begin() + static_cast<std::ptrdiff_t>(trailer_size_));
    input.advance(size);
    trailer_size_ += size;
    if (trailer_size_ < wanted) return {};
    if (compression_ == Compression::zlib)
      return stored_adler(trailer_.data()) == checksum_ ? Step{.ended = true} : refuse(input);
    std::uint32_t stored[2];  // little-endian, as the processor
    std::memcpy(stored, trailer_.data(), sizeof(stored));
    const bool right = stored[0] == checksum_ && stored[1] == static_cast<std::uint32_t>(made_);
    return right ? Step{.ended = true} : refuse(input);
  }

  RestartPoint block_here(std::int64_t offset) {
    const std::int64_t bits = offset * 8 - (stream_.data_type & unused_bits);
    RestartPoint point{.at = RestartPoint::At::block,
                       .bit = static_cast<std::uint8_t>(bits % 8),
                       .compressed = bits / 8,
                       .history = std::vector<std::byte>(history_bytes)};
    uInt size = 0;
    ::inflateGetDictionary(&stream_, reinterpret_cast<Bytef*>(point.history.data()), &size);
    point.history.resize(size);
    point.history.shrink_to_fit();
    return point;
  }

  /// Decodes the stream by ISA-L and drops the content that was returned before. zlib may have refused a valid stream,
  /// as it requires every set of codes to be complete.
  Step judge(CompressedInput& input, std::span<std::byte> out) {
    if (made_ == 0) return judge_->decode(input, out, Blocks::pass);
    scratch_.resize(scratch_bytes);
    const auto passed =
        std::span{scratch_}.first(static_cast<std::size_t>(std::min<std::int64_t>(made_, scratch_bytes)));
    Step step = judge_->decode(input, passed, Blocks::pass);
    made_ -= static_cast<std::int64_t>(step.made);
    step.repeated = step.made > 0;
    step.made = 0;
    return step;
  }

  enum class Part : std::uint8_t { header, blocks, trailer };

  const Compression compression_;
  z_stream stream_{};
  Part part_ = Part::header;
  std::uint32_t checksum_ = 0;  // checksum of the content so far
  std::array<std::uint8_t, 8> trailer_{};
  std::size_t trailer_size_ = 0;
  bool ready_ = false;      // stream_ was initialized
  std::int64_t begin_ = 0;  // offset of the stream in the file
  std::int64_t made_ = 0;   // bytes of content that were returned; while judging, those still to drop
  bool judging_ = false;
  std::unique_ptr<StreamDecoder> judge_;
  std::vector<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<StreamDecoder> block_finder(Compression compression) {
  return std::make_unique<BlockFinder>(compression);
}

}  // namespace forebay::io
