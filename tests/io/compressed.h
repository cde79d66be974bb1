// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

namespace forebay::tests {

inline constexpr int gzip_window = 15 + 16;
inline constexpr int zlib_window = 15;

/// Compresses with zlib itself, so the input of the inflater does not come from our own code.
inline std::string compress(const std::string& text, int window, int level = 6, const std::string& dictionary = {}) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  if (!dictionary.empty()) {
    deflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(dictionary.data()),
                         static_cast<uInt>(dictionary.size()));
  }
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// One zstd frame with a checksum, by zstd itself, streamed: its header does not say how much content follows.
inline std::string compress_zstd(const std::string& text, int level = 3, int window_log = 0, bool checksum = true) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  if (window_log > 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string out(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  ZSTD_compressStream2(context, &to, &in, ZSTD_e_continue);
  ZSTD_compressStream2(context, &to, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

/// One bzip2 stream, by libbz2 itself.
inline std::string compress_bzip2(const std::string& text, int level = 9) {
  std::string out(text.size() + text.size() / 50 + 700, '\0');
  auto size = static_cast<unsigned>(out.size());
  BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()), static_cast<unsigned>(text.size()), level,
                           0, 0);
  out.resize(size);
  return out;
}

/// One xz stream, by liblzma itself.
inline std::string compress_xz(const std::string& text, std::uint32_t preset = 6, lzma_check check = LZMA_CHECK_CRC64) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  lzma_easy_buffer_encode(preset, check, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                          reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
  out.resize(size);
  return out;
}

/// Text that compresses to about a third, the same every time.
inline std::string some_text(std::size_t size, std::uint64_t seed = 1) {
  static constexpr const char* words[] = {"water ", "turbine ", "basin ", "record ", "of ", "7", "3.5 ", "\n"};
  std::string out;
  for (std::uint64_t x = seed; out.size() < size;) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    out += words[x >> 61];
    if ((x >> 50) % 3 == 0) out += static_cast<char>(x >> 40);
  }
  out.resize(size);
  return out;
}

}  // namespace forebay::tests
