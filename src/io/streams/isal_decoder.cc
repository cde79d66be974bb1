// SPDX-License-Identifier: Apache-2.0
// ISA-L by its documented interface: next_in, avail_in, next_out, avail_out, crc_flag, and block_state after a call.
#include <algorithm>
#include <array>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include "io/streams/stream_decoder.h"

namespace forebay::io {
namespace {

constexpr std::size_t max_output_per_call = std::size_t{1} << 30;
constexpr std::size_t longest_copy = 258;  // bytes of one copy in deflate data
constexpr std::size_t zlib_trailer = 4;

const char* cause_of(int code) {
  switch (code) {
    case ISAL_NEED_DICT:
      return "it needs a preset dictionary";
    case ISAL_INVALID_BLOCK:
      return "invalid deflate block";
    case ISAL_INVALID_SYMBOL:
      return "invalid deflate symbol";
    case ISAL_INVALID_LOOKBACK:
      return "deflate distance too far back";
    case ISAL_INVALID_WRAPPER:
      return "invalid header";
    case ISAL_UNSUPPORTED_METHOD:
      return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
      return "wrong checksum or size in header or trailer";
    default:
      return "no progress";
  }
}

#if defined(__x86_64__)
[[gnu::target("avx")]] void zero_upper() { _mm256_zeroupper(); }
#endif

/// Called after ISA-L, which leaves the upper halves of the vector registers in use. That slows down all SSE code after
/// it.
void leave_vector_code() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx") != 0) zero_upper();
#endif
}

/// Deflate blocks without content that end after the lowest `bits` bits of a byte: a block that begins inside a byte
/// of its file continues there. ISA-L has no call for a beginning inside a byte.
///
/// An empty block of fixed codes has 10 bits, so that some of them give each even number of bits (modulo 8). An odd
/// number needs one empty block of dynamic codes, of 91 bits.
class Bridge {
 public:
  void build(unsigned bits) {
    if (bits % 2 == 1) add_dynamic_block();
    for (unsigned n = (bits % 2 == 1 ? bits + 5 : bits) % 8 / 2; n > 0; --n) put(0b010, 10);  // fixed codes; the end
  }
  /// Completes the last byte with the high bits of the file's first byte.
  void join(std::uint8_t first) {
    const unsigned mask = (1U << used_ % 8) - 1;
    bytes_[used_ / 8] = static_cast<std::uint8_t>((bytes_[used_ / 8] & mask) | (first & ~mask));
    size_ = used_ / 8 + 1;
  }
  [[nodiscard]] bool pending() const { return used_ > 0 && size_ == 0; }  ///< Built, but not joined.
  [[nodiscard]] std::span<std::uint8_t> rest() { return std::span{bytes_}.first(size_).subspan(taken_); }
  void take(std::size_t bytes) { taken_ += bytes; }

 private:
  /// Codes of one bit for the literal 255, the end of the block and one distance; then the end of the block.
  void add_dynamic_block() {
    put(0b100, 3);                   // dynamic codes, not the last block
    put(0, 5 + 5);                   // 257 codes for literals, 1 for distances
    put(18 - 4, 4);                  // 18 lengths of the codes for lengths, in deflate's order: 16, 17, 18, 0, 8, … 1
    put(std::uint64_t{1} << 6, 27);  // a code of one bit for 18, "repeat zero"
    put(std::uint64_t{1} << 24, 27);  // a code of one bit for the length 1
    put(1 | (138 - 11) << 1, 8);      // literals 0 … 137 have no code
    put(1 | (117 - 11) << 1, 8);      // literals 138 … 254 have no code
    put(0, 3);                        // 255, the end and the distance: one bit each
    put(1, 1);                        // the end
  }
  void put(std::uint64_t value, unsigned bits) {
    for (unsigned i = 0; i < bits; ++i, ++used_) {
      const auto bit = static_cast<unsigned>(value >> i & 1);
      bytes_[used_ / 8] = static_cast<std::uint8_t>(bytes_[used_ / 8] | bit << used_ % 8);
    }
  }

  std::array<std::uint8_t, 16> bytes_{};
  std::size_t used_ = 0;   // bits
  std::size_t size_ = 0;   // bytes to decode
  std::size_t taken_ = 0;  // bytes that were decoded
};

/// Decodes gzip and zlib streams by ISA-L.
///
/// In ISA-L 2.30, only the mode that reads a gzip trailer of 8 bytes leaves next_in exactly after the last byte used;
/// the other modes read ahead. So a zlib stream is read in that mode, too. ISA-L then takes the zlib trailer of 4 bytes
/// and the 4 bytes after it for a gzip trailer, which does not match. The 4 bytes are made unused again, and the
/// checksum is computed and compared here. A stream that is entered at a block is also read in that mode.
class IsalDecoder final : public StreamDecoder {
 public:
  explicit IsalDecoder(Compression compression) : zlib_{compression == Compression::zlib} {
    isal_inflate_init(&state_);
  }

  std::optional<StreamFault> begin(const CompressedInput& input) override {
    const auto head = input.unused();
    if (!zlib_ && head.size() > 3 && (head[3] & 0xe0) != 0)
      return StreamFault{"corrupt gzip data: unknown header flags"};
    isal_inflate_reset(&state_);
    state_.crc_flag = zlib_ ? ISAL_GZIP_NO_HDR_VER : ISAL_GZIP;
    header_ = zlib_;
    completed_ = false;
    verified_ = true;
    adler_ = first_adler;
    return {};
  }

  [[nodiscard]] bool enter(const RestartPoint& point) {
    isal_inflate_reset(&state_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
    completed_ = verified_ = false;
    bridge_.build(point.bit);
    std::vector<std::byte> history{point.history};  // ISA-L's signature asks for bytes that it may change
    return isal_inflate_set_dict(&state_, reinterpret_cast<std::uint8_t*>(history.data()),
                                 static_cast<std::uint32_t>(history.size())) == COMP_OK;
  }

  Step decode(CompressedInput& input, std::span<std::byte> out, Blocks /*blocks*/) override {
    if (header_) {
      if (const int code = read_zlib_header(input); code != ISAL_DECOMP_OK) {
        if (code == ISAL_END_INPUT) return {};
        return {.fault = fault(code)};
      }
    }
    if (bridge_.pending() && input.available() > 0) {
      bridge_.join(*input.next());
      input.advance(1);
    }
    if (const auto bridge = bridge_.rest(); !bridge.empty()) {
      Step step = run(bridge, out);
      bridge_.take(bridge.size() - state_.avail_in);
      return step;
    }
    Step step = run({input.next(), input.available()}, out);
    input.advance(input.available() - state_.avail_in);
    std::size_t missing = 0;
    if (zlib_ && !completed_ && input.at_end() && input.available() == 0 && state_.block_state == ISAL_CHECKSUM_CHECK) {
      completed_ = true;
      std::uint8_t after_end[zlib_trailer] = {};
      step.fault = run(after_end, {}).fault;
      missing = zlib_trailer - state_.avail_in;
    }
    if (step.fault || state_.block_state != ISAL_BLOCK_FINISH) return step;
    step.ended = true;
    if (zlib_) end_zlib(input, missing, step);
    return step;
  }

  [[nodiscard]] std::int64_t bytes() const override { return sizeof(*this); }

 private:
  [[nodiscard]] StreamFault fault(int code) const {
    return {"corrupt " + std::string{zlib_ ? "zlib" : "gzip"} + " data: " + cause_of(code)};
  }

  int read_zlib_header(CompressedInput& input) {
    isal_zlib_header header{};
    state_.next_in = input.next();
    state_.avail_in = input.available();
    const int code = isal_read_zlib_header(&state_, &header);
    input.advance(input.available() - state_.avail_in);
    header_ = code == ISAL_END_INPUT;
    return code == ISAL_DECOMP_OK && header.dict_flag != 0 ? ISAL_NEED_DICT : code;
  }

  Step run(std::span<std::uint8_t> in, std::span<std::byte> out) {
    const std::size_t room = std::min(out.size(), max_output_per_call);
    auto* const begin = reinterpret_cast<std::uint8_t*>(out.data());
    state_.next_in = in.data();
    state_.avail_in = static_cast<std::uint32_t>(in.size());
    state_.next_out = begin;
    state_.avail_out = static_cast<std::uint32_t>(room);
    const int code = isal_inflate(&state_);
    Step step{.made = std::min(room, static_cast<std::size_t>(state_.next_out - begin))};
    // At an invalid code, ISA-L counts a copy that it did not make. avail_out also includes a margin of ISA-L.
    if (code == ISAL_INVALID_SYMBOL || code == ISAL_INVALID_LOOKBACK) step.made -= std::min(step.made, longest_copy);
    leave_vector_code();
    if (zlib_ && verified_) adler_ = checksum_of(Compression::zlib, adler_, out.first(step.made));
    const bool other_trailer = code == ISAL_INCORRECT_CHECKSUM && (zlib_ || !verified_);
    if ((code < 0 && !other_trailer) || code == ISAL_NEED_DICT) step.fault = fault(code);
    return step;
  }

  /// Ends a zlib stream. The last 8 bytes used begin with the trailer; `missing` of them are after the end of the file.
  void end_zlib(CompressedInput& input, std::size_t missing, Step& step) const {
    input.step_back(zlib_trailer - missing);
    const std::uint32_t stored = stored_adler(input.next() - zlib_trailer);
    if (!verified_ || stored == adler_) return;
    step.ended = false;
    step.fault = fault(ISAL_INCORRECT_CHECKSUM);
  }

  const bool zlib_;
  bool header_ = false;     // the header of a zlib stream is read next
  bool completed_ = false;  // filler bytes for those after the end of the file were read
  bool verified_ = true;    // the stream was read from its beginning
  std::uint32_t adler_ = first_adler;
  Bridge bridge_;
  inflate_state state_;  // not initialized here: most of it is buffers
};

}  // namespace

std::uint32_t checksum_of(Compression compression, std::uint32_t before, std::span<const std::byte> bytes) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bytes.empty()) return before;
  const std::uint32_t sum = compression == Compression::gzip ? crc32_gzip_refl(before, begin, bytes.size())
                                                             : isal_adler32(before, begin, bytes.size());
  leave_vector_code();
  return sum;
}

std::unique_ptr<StreamDecoder> isal_decoder(Compression compression) {
  return std::make_unique<IsalDecoder>(compression);
}

std::unique_ptr<StreamDecoder> isal_decoder_at(Compression compression, const RestartPoint& point) {
  auto decoder = std::make_unique<IsalDecoder>(compression);
  return decoder->enter(point) ? std::move(decoder) : nullptr;
}

}  // namespace forebay::io
