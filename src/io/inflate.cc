// SPDX-License-Identifier: Apache-2.0
#include "io/inflate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/zeros.h"
#include "io/streams/stream_decoder.h"

namespace forebay::io {
namespace {

constexpr std::int64_t xz_padding = 4;   // bytes between two xz streams are zeros, a multiple of so many
constexpr std::uint32_t head_bytes = 4;  // bytes of a stream that are checked together
constexpr std::int64_t zeros_at_once = std::int64_t{8} << 20;
constexpr std::int64_t max_offset = std::int64_t{1} << 62;
// Steps without content until `read` pauses. One step uses up to 256 KiB of the file or makes up to 64 KiB again.
constexpr int max_quiet_steps = 64;

std::string looks_like(Compression expected, std::span<const std::uint8_t> head) {
  for (const Compression other :
       {Compression::gzip, Compression::zlib, Compression::zstd, Compression::bzip2, Compression::xz}) {
    if (other != expected && head.size() > 1 && can_begin(other, head))
      return fmt::format("look like {}", name_of(other));
  }
  return "may be uncompressed data";
}

std::unique_ptr<StreamDecoder> decoder_of(Compression compression) {
  if (compression == Compression::zstd) return zstd_decoder();
  if (compression == Compression::bzip2) return bzip2_decoder();
  return compression == Compression::xz ? xz_decoder() : isal_decoder(compression);
}

}  // namespace

/// The state of an Inflater: it finds the streams, the bytes between and after them, and the restart points.
struct Inflater::State {
  State(Compression compression_, Trailing trailing_, std::int64_t offset)
      : compression{compression_}, trailing{trailing_}, input{offset} {}

  const Compression compression;
  const Trailing trailing;
  CompressedInput input;
  std::unique_ptr<StreamDecoder> decoder;
  std::unique_ptr<StreamDecoder> finder;  ///< Replaces `decoder` at the beginning of the next stream.
  bool between = true;                    ///< Between two streams, or before the first one.
  bool first = true;                      ///< No stream was begun.
  std::int64_t zeros = 0;                 ///< Number of zeros after the last stream.
  bool ended = false;
  bool cut = false;
  bool resumed = false;           ///< At a restart point, and nothing was read.
  int stalled = 0;                ///< Steps in a row that used nothing and made nothing.
  std::int64_t produced = 0;      ///< Offset of the next byte of content.
  std::int64_t stream_begin = 0;  ///< Offset where the content of the current stream begins.
  bool doubtful = false;          ///< The current stream is corrupt.
  std::int64_t max = max_offset;  ///< Bytes of content that the file may have.
  std::int64_t interval = 0;      ///< Bytes of content between restart points; 0: none.
  std::int64_t next_point = 0;    ///< Offset in the content of the next restart point.
  std::vector<RestartPoint> points;
  std::optional<Error> failure;

  [[nodiscard]] Error fault(const RandomAccessFile& file, const StreamFault& fault) const;
  [[nodiscard]] Error corrupt(const RandomAccessFile& file, const StreamFault& fault);
  [[nodiscard]] Error truncated(const RandomAccessFile& file);
  [[nodiscard]] Error too_much(const RandomAccessFile& file) const;
  Result<bool> skip_zeros(const RandomAccessFile& file);
  Result<bool> begin(const RandomAccessFile& file);
  void add_point(RestartPoint point);
  Result<bool> decode(const RandomAccessFile& file, std::span<std::byte> out, std::size_t& made);
  Result<bool> step(const RandomAccessFile& file, std::span<std::byte> out, std::size_t& made);
};

Error Inflater::State::fault(const RandomAccessFile& file, const StreamFault& fault) const {
  return Error{fault.code, fault.detail,
               fmt::format("{} (compressed byte {} of {})", fault.what, input.offset(), file.size()),
               Place{.file = file.path()}};
}

/// Returns the error, and marks the stream as doubtful: its content is not verified.
Error Inflater::State::corrupt(const RandomAccessFile& file, const StreamFault& what) {
  doubtful = what.detail == Detail::data_loss;
  return fault(file, what);
}

Error Inflater::State::truncated(const RandomAccessFile& file) {
  cut = true;
  return fault(file, {fmt::format("truncated {} data: the file ends inside it", name_of(compression))});
}

Error Inflater::State::too_much(const RandomAccessFile& file) const {
  return fault(file, {.what = fmt::format("the compressed file has more than {} bytes of content, which is "
                                          "max_decompressed_bytes; raise it if that is no mistake",
                                          max),
                      .detail = Detail::resource_exhausted});
}

/// Passes up to 8 MiB of zeros after a stream. False: more may follow.
Result<bool> Inflater::State::skip_zeros(const RandomAccessFile& file) {
  for (const std::int64_t end = input.offset() + zeros_at_once; input.offset() < end;) {
    const std::size_t found = leading_zeros(std::as_bytes(input.unused()));
    this->zeros += static_cast<std::int64_t>(found);
    input.advance(found);
    if (input.available() != 0 || input.at_end()) return true;
    if (!file.ready(input.read_up_to())) return false;
    FOREBAY_DO(input.refill(file));
  }
  return false;
}

/// Begins the next stream. False: the file has ended (`ended`), or the caller should pause.
Result<bool> Inflater::State::begin(const RandomAccessFile& file) {
  const bool may_pad = trailing == Trailing::zeros || compression == Compression::xz;
  if (may_pad && !first) {
    FOREBAY_TRY(const bool passed, skip_zeros(file));
    if (!passed) return false;
  }
  const bool padded = zeros > 0 && !(compression == Compression::xz && zeros % xz_padding == 0);
  const bool bad_end = padded && trailing == Trailing::nothing;
  ended = input.available() == 0 && !bad_end;
  if (ended) return false;
  const auto head = input.unused().first(std::min(input.available(), head_bytes));
  if (padded || !can_begin(compression, head)) {
    if (!first) return fault(file, {fmt::format("trailing bytes after the end of the {} data", name_of(compression))});
    return fault(file,
                 {fmt::format("not {} data: the file begins with bytes {:#04x} {:#04x}, which {}", name_of(compression),
                              head[0], head.size() > 1 ? head[1] : 0, looks_like(compression, head))});
  }
  if (finder) decoder = std::move(finder);
  if (const auto wrong = decoder->begin(input)) return fault(file, *wrong);
  if (interval > 0 && produced >= next_point) add_point({.compressed = input.offset(), .uncompressed = produced});
  zeros = 0;
  between = false;
  first = false;
  stream_begin = produced;
  return true;
}

void Inflater::State::add_point(RestartPoint point) {
  point.uncompressed = produced;
  points.push_back(std::move(point));
  next_point = produced + interval;
}

Result<bool> Inflater::State::decode(const RandomAccessFile& file, std::span<std::byte> out, std::size_t& made) {
  const bool finding = interval > 0 && produced >= next_point;
  if (interval > 0 && !finding)
    out = out.first(static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(out), next_point - produced)));
  const std::int64_t before = input.offset();
  auto step = decoder->decode(input, out, finding ? StreamDecoder::Blocks::find : StreamDecoder::Blocks::pass);
  made = step.made;
  produced += static_cast<std::int64_t>(made);
  if (step.fault) return corrupt(file, *step.fault);
  if (step.block) add_point(*std::move(step.block));
  between = step.ended;
  if (step.ended) return true;
  if (made == 0 && !step.repeated && input.available() == 0 && input.at_end()) return truncated(file);
  stalled = made == 0 && !step.repeated && input.offset() == before ? stalled + 1 : 0;
  if (stalled > 3) return corrupt(file, {fmt::format("corrupt {} data: no progress", name_of(compression))});
  return true;
}

/// Decodes the next bytes. False: the file has ended after a complete stream, or the caller should pause.
Result<bool> Inflater::State::step(const RandomAccessFile& file, std::span<std::byte> out, std::size_t& made) {
  while (!input.at_end() && input.available() < (between ? head_bytes : 1U)) {
    if (!file.ready(input.read_up_to())) return false;
    FOREBAY_DO(input.refill(file));
  }
  if (resumed && input.available() == 0) return fault(file, {"the restart point lies after the end of the file"});
  resumed = false;
  if (!between) return decode(file, out, made);
  FOREBAY_TRY(const bool begun, begin(file));
  if (!begun) return false;
  return decode(file, out, made);
}

Inflater::Inflater(std::unique_ptr<State> state) : state_{std::move(state)} {}
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;
Inflater::~Inflater() = default;

Result<Inflater> Inflater::make(Compression compression, Trailing trailing) {
  return resume(compression, {}, trailing);
}

Result<Inflater> Inflater::resume(Compression compression, const RestartPoint& point, Trailing trailing) {
  if (compression == Compression::none || compression == Compression::automatic)
    return Error{Code::internal, "only compressed data can be decompressed"};
  const bool at_stream = point.at == RestartPoint::At::stream;
  if (point.compressed < 0 || point.compressed > max_offset || point.uncompressed < 0 ||
      point.uncompressed > max_offset || point.bit > 7 || point.history.size() > history_bytes ||
      (at_stream ? point.bit != 0 || !point.history.empty() : !has_block_points(compression))) {
    return Error{Code::data, Detail::data_loss, "a restart point is not possible"};
  }
  auto state = std::make_unique<State>(compression, trailing, point.compressed);
  state->decoder = at_stream ? decoder_of(compression) : isal_decoder_at(compression, point);
  if (!state->decoder) return Error{Code::internal, "the decoder took no history"};
  state->produced = state->stream_begin = point.uncompressed;
  state->between = at_stream;
  state->first = at_stream && point.compressed == 0;
  state->resumed = point.compressed > 0 || !at_stream;
  return Inflater{std::move(state)};
}

void Inflater::limit(std::int64_t max) { state_->max = std::clamp<std::int64_t>(max, 0, max_offset); }

void Inflater::collect(std::int64_t interval) {
  state_->interval = std::max<std::int64_t>(interval, 1);
  state_->next_point = state_->produced;
  if (has_block_points(state_->compression)) state_->finder = block_finder(state_->compression);
}

std::vector<RestartPoint> Inflater::take_points() { return std::exchange(state_->points, {}); }

Result<std::size_t> Inflater::read(const RandomAccessFile& file, std::span<std::byte> out) {
  State& state = *state_;
  if (state.failure) return *state.failure;
  std::size_t done = 0;
  for (int quiet = 0; done < out.size() && quiet < max_quiet_steps;) {
    std::size_t made = 0;
    // One byte more than the limit is decoded. If that byte does not come, the content ends at the limit.
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(state.max - state.produced, 0)) + 1;
    auto more = state.step(file, out.subspan(done, std::min(out.size() - done, room)), made);
    done += made;
    if (made == room) {
      --done;
      --state.produced;
      more = state.too_much(file);
    }
    if (!more.ok()) {
      state.failure = more.error();
      if (done == 0) return *state.failure;
      break;
    }
    if (!*more) break;
    quiet = made > 0 ? 0 : quiet + 1;
  }
  return done;
}

std::int64_t Inflater::consumed() const { return state_->input.offset(); }
std::int64_t Inflater::read_up_to() const { return state_->input.read_up_to(); }
bool Inflater::hungry() const {
  return !state_->input.at_end() && state_->input.available() < (state_->between ? head_bytes : 1U);
}
std::int64_t Inflater::produced() const { return state_->produced; }
std::int64_t Inflater::sound() const { return state_->doubtful ? state_->stream_begin : state_->produced; }
std::int64_t Inflater::verified() const { return state_->between ? state_->produced : state_->stream_begin; }
bool Inflater::ended() const { return state_->ended; }
bool Inflater::cut() const { return state_->cut; }
std::int64_t Inflater::bytes() const {
  const auto finder = state_->finder ? state_->finder->bytes() : 0;
  return static_cast<std::int64_t>(sizeof(State)) + state_->decoder->bytes() + finder;
}

}  // namespace forebay::io
