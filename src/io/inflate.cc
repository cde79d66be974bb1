// SPDX-License-Identifier: Apache-2.0
#include "io/inflate.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <fmt/core.h>
#include <isa-l/igzip_lib.h>

namespace forebay::io {
namespace {

constexpr std::size_t piece_bytes = 256 * 1024;
// The decoder may have taken up to 8 bytes beyond the end of a stream into its bit buffer; they are still here.
constexpr std::size_t kept_bytes = 16;
constexpr std::uint32_t head_bytes = 4;  // of a stream, wanted at once
constexpr std::int64_t most_offset = std::int64_t{1} << 62;
constexpr std::size_t most_output_per_call = std::size_t{1} << 30;
// The decoder cannot be told to stop at a block. But when its input ends inside a block's header, it keeps that header
// and says so; with input in morsels that are shorter than most headers it mostly does. Morsels are counted in output,
// because that is what a call costs.
constexpr std::int64_t morsel_output = 128;
constexpr std::int64_t morsel_least = 8;
constexpr std::int64_t morsel_most = 32;
constexpr std::int64_t most_morsels = 8192;  // then the search is given up for a while: files of a single block exist

std::uint32_t trailer_bytes(Compression compression) { return compression == Compression::gzip ? 8 : 4; }

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

struct Inflater::State {
  inflate_state stream;
  Compression compression = Compression::gzip;
  bool between = true;  ///< At the beginning of a stream (or of the file), nothing of it used yet.
  bool first = true;    ///< No stream has begun yet.
  bool zeros = false;   ///< May stand behind the last stream.
  bool padded = false;  ///< Some did: nothing else may follow.
  bool at_end = false;  ///< All of the file is in `buffer`.
  int stalled = 0;
  std::int64_t offset = 0;          ///< Of the next byte to read from the file.
  std::int64_t produced = 0;        ///< Content up to here has been given out.
  std::int64_t stream_begin = 0;    ///< Content that the present stream begins with.
  bool doubtful = false;            ///< This stream is corrupt.
  std::int64_t most = most_offset;  ///< Content behind it is a fault.
  bool resumed = false;             ///< At a restart point, nothing read yet.
  std::uint8_t used_bits = 0;
  bool unverified = false;         ///< This stream was entered in its middle.
  std::uint32_t trailer_left = 0;  ///< Bytes to be skipped.
  std::int64_t interval = 0;       ///< Of restart points; 0 when none are collected.
  std::int64_t next_point = 0;     ///< From this content on one is looked for.
  std::int64_t morsels_left = 0;   ///< Until the search is given up.
  std::vector<RestartPoint> points;
  std::optional<Error> failure;
  bool cut_short = false;
  std::uint8_t buffer[kept_bytes + piece_bytes];

  [[nodiscard]] std::int64_t consumed() const { return offset - std::int64_t{stream.avail_in}; }
  [[nodiscard]] Error fault(const File& file, std::string what) const;
  [[nodiscard]] Error broken(const File& file, std::string what);
  [[nodiscard]] Error truncated(const File& file);
  [[nodiscard]] Error too_much(const File& file) const;
  Result<void> refill(const File& file);
  Result<void> skip_zeros(const File& file);
  Result<void> prime(const File& file);
  Result<void> begin(const File& file);
  Result<bool> skip_trailer(const File& file);
  void add_point(RestartPoint point);
  void look_for_block();
  [[nodiscard]] std::uint32_t morsel() const;
  int inflate();
  void end_stream();
  Result<bool> step(const File& file, std::span<std::byte> out, std::size_t& made);
};

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
      fmt::format("the packed file has more than {} bytes of content, which is max_decompressed_bytes; raise it "
                  "if that is no mistake (compressed byte {} of {})",
                  most, consumed(), file.size()),
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

Result<void> Inflater::State::skip_zeros(const File& file) {
  while (true) {
    for (; stream.avail_in != 0 && *stream.next_in == 0; ++stream.next_in, --stream.avail_in) padded = true;
    if (stream.avail_in != 0 || at_end) return {};
    FOREBAY_DO(refill(file));
  }
}

/// Reads the first bytes behind a restart point; the bits of the first byte that are left go to the decoder by hand.
Result<void> Inflater::State::prime(const File& file) {
  FOREBAY_DO(refill(file));
  resumed = false;
  if (stream.avail_in == 0 && (offset > 0 || used_bits > 0))
    return fault(file, "the restart point lies behind the end of the file");
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
    if (!first) return fault(file, fmt::format("trailing bytes behind the end of the {} data", name_of(compression)));
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
  morsels_left = most_morsels;
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
  return static_cast<std::uint32_t>(std::clamp(size, morsel_least, morsel_most));
}

int Inflater::State::inflate() {
  if (interval == 0) return inflate_some(stream);
  const std::uint32_t room = stream.avail_out;
  const bool searching = produced >= next_point;
  const std::uint32_t hidden = searching ? stream.avail_in - std::min(stream.avail_in, morsel()) : 0;
  const std::uint32_t allowed =
      searching ? room : static_cast<std::uint32_t>(std::min<std::int64_t>(room, next_point - produced));
  stream.avail_in -= hidden;
  stream.avail_out = allowed;
  const int code = inflate_some(stream);
  stream.avail_in += hidden;
  stream.avail_out += room - allowed;
  if (searching && --morsels_left <= 0) {
    next_point = produced + interval;
    morsels_left = most_morsels;
  }
  return code;
}

/// Makes some progress; false is the end of the file behind a complete stream.
Result<bool> Inflater::State::step(const File& file, std::span<std::byte> out, std::size_t& made) {
  if (resumed) FOREBAY_DO(prime(file));
  while (!at_end && stream.avail_in < (between ? head_bytes : 1U)) FOREBAY_DO(refill(file));
  if (trailer_left > 0) return skip_trailer(file);
  if (between) {
    if (zeros && !first) FOREBAY_DO(skip_zeros(file));
    if (stream.avail_in == 0) return false;
    FOREBAY_DO(begin(file));
  }
  const std::uint32_t in_before = stream.avail_in;
  const auto out_before = static_cast<std::uint32_t>(std::min(out.size(), most_output_per_call));
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = out_before;
  const int code = inflate();
  // Of some data that are none, ISA-L says that they filled more than there was.
  if (stream.avail_out > out_before) return broken(file, fmt::format("corrupt {} data: no code", name_of(compression)));
  made = out_before - stream.avail_out;
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

Inflater::Inflater(std::unique_ptr<State> state) : state_{std::move(state)} {}
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;
Inflater::~Inflater() = default;

Result<Inflater> Inflater::make(Compression compression, Behind behind) {
  if (compression != Compression::gzip && compression != Compression::zlib) {
    return Error{Code::internal, "only gzip and zlib can be inflated"};
  }
  auto state = std::make_unique_for_overwrite<State>();  // zeroing its buffers would cost more than a small file
  state->compression = compression;
  state->zeros = behind == Behind::zeros;
  isal_inflate_init(&state->stream);
  state->stream.next_in = nullptr;
  state->stream.avail_in = 0;
  return Inflater{std::move(state)};
}

Result<Inflater> Inflater::resume(Compression compression, const RestartPoint& point, Behind behind) {
  const bool at_stream = point.at == RestartPoint::At::stream;
  if (point.compressed < 0 || point.compressed > most_offset || point.uncompressed < 0 ||
      point.uncompressed > most_offset || point.bit > 7 || point.window.size() > window_bytes ||
      (at_stream && (point.bit != 0 || !point.window.empty()))) {
    return Error{Code::data, Detail::data_loss, "a restart point is not possible"};
  }
  FOREBAY_TRY(Inflater inflater, make(compression, behind));
  State& state = *inflater.state_;
  state.resumed = true;
  state.offset = point.compressed;
  state.produced = state.stream_begin = point.uncompressed;
  state.between = at_stream;
  state.first = at_stream && point.compressed == 0;
  if (at_stream) return inflater;
  state.used_bits = point.bit;
  state.unverified = true;
  state.stream.crc_flag = ISAL_DEFLATE;
  std::vector<std::byte> window{point.window};  // the decoder's signature asks for bytes that it may change
  if (isal_inflate_set_dict(&state.stream, reinterpret_cast<std::uint8_t*>(window.data()),
                            static_cast<std::uint32_t>(window.size())) != COMP_OK) {
    return Error{Code::internal, "the decoder took no history"};
  }
  return inflater;
}

void Inflater::limit(std::int64_t most) { state_->most = std::clamp<std::int64_t>(most, 0, most_offset); }

void Inflater::collect(std::int64_t interval) {
  state_->interval = std::max<std::int64_t>(interval, 1);
  state_->next_point = state_->produced;
  state_->morsels_left = most_morsels;
}

std::vector<RestartPoint> Inflater::take_points() { return std::exchange(state_->points, {}); }

Result<std::size_t> Inflater::read(const File& file, std::span<std::byte> out) {
  State& state = *state_;
  if (state.failure) return *state.failure;
  std::size_t done = 0;
  while (done < out.size()) {
    std::size_t made = 0;
    // One byte behind the limit is asked for: without it, the end may still come.
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(state.most - state.produced, 0)) + 1;
    auto more = state.step(file, out.subspan(done, std::min(out.size() - done, room)), made);
    done += made;
    if (made == room) {
      --done;
      more = state.too_much(file);
    }
    if (!more.ok()) {
      state.failure = more.error();
      if (done == 0) return *state.failure;
      break;
    }
    if (!*more) break;
  }
  return done;
}

std::int64_t Inflater::consumed() const { return state_->consumed(); }
std::int64_t Inflater::produced() const { return state_->produced; }
std::int64_t Inflater::sound() const { return state_->doubtful ? state_->stream_begin : state_->produced; }

bool Inflater::cut_short() const { return state_->cut_short; }

}  // namespace forebay::io
