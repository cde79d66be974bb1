// SPDX-License-Identifier: Apache-2.0
#include "io/inflate.h"

#include <algorithm>
#include <cstring>
#include <optional>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

namespace forebay::io {
namespace {

constexpr std::size_t piece_bytes = 256 * 1024;
// The decoder may have taken up to 8 bytes beyond the end of a stream into its bit buffer; they are still here.
constexpr std::size_t kept_bytes = 16;
constexpr std::uint32_t head_bytes = 4;  // of a stream, wanted at once
constexpr std::size_t most_per_call = std::size_t{1} << 30;

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
  std::int64_t offset = 0;  ///< Of the next byte to read from the file.
  std::optional<Error> failure;
  std::uint8_t buffer[kept_bytes + piece_bytes];

  [[nodiscard]] std::int64_t consumed() const { return offset - std::int64_t{stream.avail_in}; }
  [[nodiscard]] Error fault(const File& file, std::string what) const;
  Result<void> refill(const File& file);
  Result<void> skip_zeros(const File& file);
  Result<void> begin(const File& file);
  Result<bool> step(const File& file, std::span<std::byte> out, std::size_t& made);
};

Error Inflater::State::fault(const File& file, std::string what) const {
  return Error{Code::data, Detail::data_loss,
               fmt::format("{} (compressed byte {} of {})", what, consumed(), file.size()), Place{.file = file.path()}};
}

Result<void> Inflater::State::refill(const File& file) {
  const std::size_t left = stream.avail_in;
  std::uint8_t* const base = buffer + kept_bytes;
  if (stream.next_in != nullptr) std::memmove(buffer, stream.next_in + left - kept_bytes, kept_bytes);
  FOREBAY_TRY(const std::size_t got, file.read(std::as_writable_bytes(std::span{base, piece_bytes}), offset));
  offset += static_cast<std::int64_t>(got);
  at_end = got < piece_bytes;
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
  isal_inflate_reset(&stream);
  stream.crc_flag = gzip ? ISAL_GZIP : ISAL_ZLIB;
  stream.next_in = next;
  stream.avail_in = available;
  between = false;
  first = false;
  return {};
}

/// Makes some progress; false is the end of the file behind a complete stream.
Result<bool> Inflater::State::step(const File& file, std::span<std::byte> out, std::size_t& made) {
  if (!at_end && stream.avail_in < (between ? head_bytes : 1U)) FOREBAY_DO(refill(file));
  if (between) {
    if (zeros && !first) FOREBAY_DO(skip_zeros(file));
    if (stream.avail_in == 0) return false;
    FOREBAY_DO(begin(file));
  }
  const std::uint32_t in_before = stream.avail_in;
  const auto out_before = static_cast<std::uint32_t>(std::min(out.size(), most_per_call));
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = out_before;
  const int code = inflate_some(stream);
  made = out_before - stream.avail_out;
  if (code < 0 || code == ISAL_NEED_DICT) {
    return fault(file, fmt::format("corrupt {} data: {}", name_of(compression), cause_of(code)));
  }
  if (stream.block_state == ISAL_BLOCK_FINISH) {
    const auto ahead = static_cast<std::uint32_t>(stream.read_in_length / 8);
    stream.next_in -= ahead;
    stream.avail_in += ahead;
    between = true;
    return true;
  }
  if (made == 0 && stream.avail_in == 0 && at_end) {
    return fault(file, fmt::format("truncated {} data: the file ends inside it", name_of(compression)));
  }
  stalled = made == 0 && stream.avail_in == in_before ? stalled + 1 : 0;
  if (stalled > 3) return fault(file, fmt::format("corrupt {} data: no progress", name_of(compression)));
  return true;
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

Result<std::size_t> Inflater::read(const File& file, std::span<std::byte> out) {
  State& state = *state_;
  if (state.failure) return *state.failure;
  std::size_t done = 0;
  while (done < out.size()) {
    std::size_t made = 0;
    auto more = state.step(file, out.subspan(done), made);
    done += made;
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

}  // namespace forebay::io
