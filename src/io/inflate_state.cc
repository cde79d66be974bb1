// SPDX-License-Identifier: Apache-2.0
#include "io/inflate_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <fmt/core.h>

#include "base/zeros.h"

namespace forebay::io {
namespace {

constexpr std::uint32_t head_bytes = 4;  // of a stream, wanted at once
constexpr std::size_t max_output_per_call = std::size_t{1} << 30;
constexpr std::size_t longest_copy = 258;  // of a match in deflate
constexpr std::int64_t zeros_at_once = std::int64_t{8} << 20;
// The decoder cannot be told to stop at a block. But when its input ends inside a block's header, it keeps that header
// and says so; with input in morsels that are shorter than most headers it mostly does. Morsels are counted in output,
// because that is what a call costs.
constexpr std::int64_t morsel_output = 128;
constexpr std::int64_t min_morsel = 8;
constexpr std::int64_t max_morsel = 32;

std::uint32_t trailer_bytes(Compression compression) { return compression == Compression::gzip ? 8 : 4; }

std::uint8_t* begin_of(std::span<std::byte> out) { return reinterpret_cast<std::uint8_t*>(out.data()); }

std::string_view name_of(Compression compression) { return compression == Compression::gzip ? "gzip" : "zlib"; }

std::string_view cause_of(int code) {
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

bool gzip_magic(std::span<const std::uint8_t> head) { return head[0] == 0x1f && (head.size() < 2 || head[1] == 0x8b); }

bool zlib_magic(std::span<const std::uint8_t> head) {
  if ((head[0] & 0x0f) != 8 || (head[0] >> 4) > 7) return false;
  return head.size() < 2 || (head[0] * 256 + head[1]) % 31 == 0;
}

#if defined(__x86_64__)
[[gnu::target("avx")]] void zero_upper() { _mm256_zeroupper(); }
#endif

/// ISA-L leaves the upper halves of the vector registers in use, which makes all SSE code after it many times slower.
int inflate_some(inflate_state& stream) {
  const int code = isal_inflate(&stream);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx") != 0) zero_upper();
#endif
  return code;
}

bool before_block(const inflate_state& stream) {
  return stream.block_state == ISAL_BLOCK_NEW_HDR || stream.block_state == ISAL_BLOCK_HDR;
}

}  // namespace

Error Inflater::State::fault(const File& file, std::string what) const {
  return Error{Code::data, Detail::data_loss,
               fmt::format("{} (compressed byte {} of {})", what, consumed(), file.size()), Place{.file = file.path()}};
}

/// Corrupt data: the content of the stream was not verified so far.
Error Inflater::State::broken(const File& file, std::string what) {
  doubtful = true;
  return fault(file, std::move(what));
}

Error Inflater::State::truncated(const File& file) {
  cut_short = true;
  return fault(file, fmt::format("truncated {} data: the file ends inside it", name_of(compression)));
}

Error Inflater::State::too_much(const File& file) const {
  return Error{
      Code::data, Detail::resource_exhausted,
      fmt::format("the compressed file has more than {} bytes of content, which is max_decompressed_bytes; raise it "
                  "if that is no mistake (compressed byte {} of {})",
                  max, consumed(), file.size()),
      Place{.file = file.path()}};
}

Result<void> Inflater::State::refill(const File& file) {
  const std::size_t left = stream.avail_in;
  std::uint8_t* const base = buffer + kept_bytes;
  if (stream.next_in != nullptr) std::memmove(buffer, stream.next_in + left - kept_bytes, kept_bytes);
  FOREBAY_TRY(const std::size_t got, file.read_some(std::as_writable_bytes(std::span{base, piece_bytes}), offset));
  offset += static_cast<std::int64_t>(got);
  at_end = got == 0 || (got < piece_bytes && offset >= file.size());  // else there is a fault ahead
  stream.next_in = base - left;
  stream.avail_in = static_cast<std::uint32_t>(left + got);
  return {};
}

/// False when there may be more of them than one call should pass.
Result<bool> Inflater::State::skip_zeros(const File& file) {
  for (const std::int64_t end = consumed() + zeros_at_once; consumed() < end;) {
    const auto zeros_here =
        static_cast<std::uint32_t>(leading_zeros(std::as_bytes(std::span{stream.next_in, stream.avail_in})));
    padded = padded || zeros_here > 0;
    stream.next_in += zeros_here;
    stream.avail_in -= zeros_here;
    if (stream.avail_in != 0 || at_end) return true;
    FOREBAY_DO(refill(file));
  }
  return false;
}

/// Reads the first bytes behind a restart point; the bits of the first byte that are left go to the decoder by hand.
Result<void> Inflater::State::prime(const File& file) {
  FOREBAY_DO(refill(file));
  resumed = false;
  if (stream.avail_in == 0 && (offset > 0 || used_bits > 0))
    return fault(file, "the restart point lies after the end of the file");
  if (used_bits == 0) return {};
  stream.read_in = static_cast<std::uint64_t>(*stream.next_in >> used_bits);
  stream.read_in_length = 8 - used_bits;
  ++stream.next_in;
  --stream.avail_in;
  return {};
}

/// Checks the header of the stream that begins here, so that what is wrong can be said in the user's words.
Result<void> Inflater::State::begin(const File& file) {
  const std::span<const std::uint8_t> head{stream.next_in, std::min(stream.avail_in, head_bytes)};
  const bool gzip = compression == Compression::gzip;
  if (padded || (gzip ? !gzip_magic(head) : !zlib_magic(head))) {
    if (!first) return fault(file, fmt::format("trailing bytes after the end of the {} data", name_of(compression)));
    const bool other = head.size() > 1 && (gzip ? zlib_magic(head) : gzip_magic(head));
    return fault(file, fmt::format("not {} data: the file begins with bytes {:#04x} {:#04x}, {}", name_of(compression),
                                   head[0], head.size() > 1 ? head[1] : 0,
                                   !other ? "which may be uncompressed data"
                                   : gzip ? "which look like zlib"
                                          : "which look like gzip"));
  }
  if (gzip && head.size() > 3 && (head[3] & 0xe0) != 0) return fault(file, "corrupt gzip data: unknown header flags");
  std::uint8_t* const next = stream.next_in;
  const std::uint32_t available = stream.avail_in;
  if (interval > 0 && produced >= next_point) add_point({.compressed = consumed(), .uncompressed = produced});
  isal_inflate_reset(&stream);
  stream.crc_flag = gzip ? ISAL_GZIP : ISAL_ZLIB;
  stream.next_in = next;
  stream.avail_in = available;
  between = false;
  first = false;
  stream_begin = produced;
  return {};
}

Result<bool> Inflater::State::skip_trailer(const File& file) {
  if (stream.avail_in == 0 && at_end) return truncated(file);
  const std::uint32_t skipped = std::min(stream.avail_in, trailer_left);
  stream.next_in += skipped;
  stream.avail_in -= skipped;
  trailer_left -= skipped;
  between = trailer_left == 0;
  return true;
}

void Inflater::State::add_point(RestartPoint point) {
  points.push_back(std::move(point));
  next_point = produced + interval;
  morsels_left = max_morsels;
}

/// Notes the block that begins here, if one does and everything before it has been given out.
void Inflater::State::look_for_block() {
  if (!before_block(stream) || stream.tmp_out_valid != stream.tmp_out_processed) return;
  // A header that was cut off is in tmp_in_buffer, to be decoded again; read_in is as it was before the header.
  const std::int64_t bits = (consumed() - stream.tmp_in_size) * 8 - stream.read_in_length;
  const auto held = static_cast<std::size_t>(stream.tmp_out_valid);  // the history, as far as the decoder needs it
  const auto history = std::as_bytes(std::span{stream.tmp_out_buffer}).first(held).last(std::min(held, window_bytes));
  add_point({.at = RestartPoint::At::block,
             .bit = static_cast<std::uint8_t>(bits % 8),
             .compressed = bits / 8,
             .uncompressed = produced,
             .window = {history.begin(), history.end()}});
}

/// How much of the input the decoder may see while a block's beginning is looked for.
std::uint32_t Inflater::State::morsel() const {
  if (before_block(stream) && stream.tmp_out_valid != stream.tmp_out_processed)
    return 0;  // this one, once it is given out
  if (stream.block_state == ISAL_BLOCK_TYPE0 && stream.type0_block_len > 0) {
    return static_cast<std::uint32_t>(stream.type0_block_len);  // stored: its end is known
  }
  const std::int64_t size = morsel_output * consumed() / std::max<std::int64_t>(produced, 1);
  return static_cast<std::uint32_t>(std::clamp(size, min_morsel, max_morsel));
}

int Inflater::State::inflate() {
  if (interval == 0) return inflate_some(stream);
  const bool searching = produced >= next_point;
  const std::uint32_t hidden = searching ? stream.avail_in - std::min(stream.avail_in, morsel()) : 0;
  if (!searching)
    stream.avail_out = static_cast<std::uint32_t>(std::min<std::int64_t>(stream.avail_out, next_point - produced));
  stream.avail_in -= hidden;
  const int code = inflate_some(stream);
  stream.avail_in += hidden;
  if (searching && --morsels_left <= 0) {
    next_point = produced + interval;
    morsels_left = max_morsels;
  }
  return code;
}

/// Makes some progress; false is the end of the file behind a complete stream, or a pause among the zeros behind it.
Result<bool> Inflater::State::step(const File& file, std::span<std::byte> out, std::size_t& made) {
  if (resumed) FOREBAY_DO(prime(file));
  while (!at_end && stream.avail_in < (between ? head_bytes : 1U)) FOREBAY_DO(refill(file));
  if (trailer_left > 0) return skip_trailer(file);
  if (between) {
    if (zeros && !first) {
      FOREBAY_TRY(const bool skipped, skip_zeros(file));
      if (!skipped) return false;
    }
    if (stream.avail_in == 0) {
      ended = true;
      return false;
    }
    FOREBAY_DO(begin(file));
  }
  const std::uint32_t in_before = stream.avail_in;
  const auto out_before = static_cast<std::uint32_t>(std::min(out.size(), max_output_per_call));
  stream.next_out = begin_of(out);
  stream.avail_out = out_before;
  const int code = inflate();
  made = std::min<std::size_t>(out_before, static_cast<std::size_t>(stream.next_out - begin_of(out)));
  // At data that are no code, ISA-L counts a copy that it did not make (and in avail_out a margin of its own, too).
  if (code == ISAL_INVALID_SYMBOL || code == ISAL_INVALID_LOOKBACK) made -= std::min(made, longest_copy);
  produced += static_cast<std::int64_t>(made);
  if (code < 0 || code == ISAL_NEED_DICT) {
    return broken(file, fmt::format("corrupt {} data: {}", name_of(compression), cause_of(code)));
  }
  if (stream.block_state == ISAL_BLOCK_FINISH) {
    end_stream();
    return true;
  }
  if (interval > 0 && produced >= next_point) look_for_block();
  if (made == 0 && stream.avail_in == 0 && at_end) return truncated(file);
  stalled = made == 0 && stream.avail_in == in_before ? stalled + 1 : 0;
  if (stalled > 3) return broken(file, fmt::format("corrupt {} data: no progress", name_of(compression)));
  return true;
}

/// Gives back what the decoder has taken beyond the stream.
void Inflater::State::end_stream() {
  const auto ahead = static_cast<std::uint32_t>(stream.read_in_length / 8);
  stream.next_in -= ahead;
  stream.avail_in += ahead;
  trailer_left = unverified ? trailer_bytes(compression) : 0;
  between = !unverified;
  unverified = false;
}

}  // namespace forebay::io
