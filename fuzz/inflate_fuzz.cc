// SPDX-License-Identifier: Apache-2.0
// Decompression: a fault of the compressed bytes is an error and nothing worse, and a clean end has the same content as
// that of zlib or zstd, and for bzip2 and xz as a read from each restart point.
#include <algorithm>
#include <cstring>
#include <string_view>

#include <zlib.h>
#include <zstd.h>

#include "fuzz/check.h"
#include "io/inflate.h"

using forebay::Compression;
using forebay::fuzz::check;

namespace {

constexpr std::size_t most = 4 << 20;

// refuses_codes: zlib wants sets of codes to be complete, ISA-L does not. What they decode to has a right checksum, but
// there is nothing to compare it with.
enum class Ending { whole, faulty, refuses_codes };

// Decompresses all members with zlib.
Ending inflate_by_zlib(std::span<const std::byte> compressed, int bits, std::string& out) {
  std::size_t at = 0;
  while (at < compressed.size()) {
    z_stream stream{};
    if (inflateInit2(&stream, bits) != Z_OK) return Ending::faulty;
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(compressed.data() + at));
    stream.avail_in = static_cast<uInt>(compressed.size() - at);
    int status = Z_OK;
    char piece[4096];
    while (status == Z_OK && out.size() <= most) {
      stream.next_out = reinterpret_cast<Bytef*>(piece);
      stream.avail_out = sizeof(piece);
      status = ::inflate(&stream, Z_NO_FLUSH);
      out.append(piece, sizeof(piece) - stream.avail_out);
    }
    at = compressed.size() - stream.avail_in;
    const std::string_view fault{stream.msg == nullptr ? "" : stream.msg};
    inflateEnd(&stream);
    if (status == Z_STREAM_END) continue;
    return fault.ends_with(" set") ? Ending::refuses_codes : Ending::faulty;
  }
  return Ending::whole;
}

// All frames with zstd. A call never gets a whole frame: zstd then decodes the frame at once, and refuses some frames
// that it decodes piece by piece.
Ending decompress_by_zstd(std::span<const std::byte> compressed, std::string& out) {
  constexpr std::size_t less_than_a_frame = 8;
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  ZSTD_inBuffer in{compressed.data(), 0, 0};
  std::size_t left = 0;
  char piece[4096];
  for (bool more = true; more && out.size() <= most;) {
    ZSTD_outBuffer to{piece, sizeof(piece), 0};
    in.size = std::min(compressed.size(), in.pos + less_than_a_frame);
    left = ZSTD_decompressStream(context, &to, &in);
    if (ZSTD_isError(left) != 0) break;
    out.append(piece, to.pos);
    more = in.pos < compressed.size() || (left != 0 && to.pos == sizeof(piece));
  }
  ZSTD_freeDCtx(context);
  return left == 0 ? Ending::whole : Ending::faulty;
}

// Fills the window as far as there is content, through pauses.
forebay::Result<std::size_t> read_on(forebay::io::Inflater& inflater, const forebay::io::File& file,
                                     std::span<std::byte> window) {
  std::size_t done = 0;
  while (done < window.size() && !inflater.ended()) {
    auto got = inflater.read(file, window.subspan(done));
    if (!got.ok()) return got;
    done += *got;
  }
  return done;
}

// From every restart point on, the bytes equal those of a sequential read.
void check_restarts(const forebay::io::File& file, Compression compression, const std::string& expected) {
  auto collecting = forebay::io::Inflater::make(compression);
  collecting->collect(1000);
  std::vector<std::byte> window(expected.size() + 1);
  check(*read_on(*collecting, file, window) == expected.size(), "collecting changes nothing");
  for (const auto& point : collecting->take_points()) {
    auto inflater = forebay::io::Inflater::resume(compression, point);
    check(inflater.ok(), "inflating can begin at a point");
    auto got = read_on(*inflater, file, window);
    const auto begin = static_cast<std::size_t>(point.uncompressed);
    check(got.ok() && begin + *got == expected.size(), "all of the rest comes");
    check(std::memcmp(window.data(), expected.data() + begin, *got) == 0, "and it is right");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr Compression kinds[] = {Compression::gzip,  Compression::zlib, Compression::zstd, Compression::zstd,
                                   Compression::bzip2, Compression::xz,   Compression::zstd, Compression::zstd};
  const Compression compression = kinds[data[0] & 7];
  const bool zlib = compression == Compression::zlib;
  const std::size_t piece = data[0] < 64 ? std::size_t{1} << 16 : data[0];
  const auto compressed = forebay::fuzz::bytes_of(data + 1, size - 1);
  static forebay::fuzz::ScratchFile scratch;
  scratch.fill(compressed);
  auto file = forebay::io::File::open(scratch.path());
  check(file.ok(), "the temporary file opens");
  auto inflater = forebay::io::Inflater::make(compression);
  check(inflater.ok(), "an inflater can be made");
  std::string out;
  std::vector<std::byte> window(piece);
  bool clean = false;
  while (out.size() <= most) {
    auto got = inflater->read(*file, window);
    if (!got.ok()) {
      check(!inflater->read(*file, window).ok(), "a failure repeats");
      break;
    }
    check(*got <= window.size(), "no more than the room is filled");
    if (*got == 0 && inflater->ended()) {
      clean = true;
      break;
    }
    out.append(reinterpret_cast<const char*>(window.data()), *got);
  }
  if (!clean || compressed.empty()) return 0;
  if (compression == Compression::bzip2 || compression == Compression::xz) {
    if (out.size() < 100'000) check_restarts(*file, compression, out);
    return 0;
  }
  std::string expected;
  const Ending ending = compression == Compression::zstd ? decompress_by_zstd(compressed, expected)
                                                         : inflate_by_zlib(compressed, zlib ? 15 : 31, expected);
  if (ending == Ending::refuses_codes) return 0;
  check(ending == Ending::whole, "what ends cleanly is whole for zlib or zstd, too");
  check(out == expected, "the bytes are those of zlib or zstd");
  if (out.size() < 100'000) check_restarts(*file, compression, expected);
  return 0;
}
