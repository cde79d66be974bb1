// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <lzma.h>

#include "io/streams/stream_decoder.h"

namespace forebay::io {
namespace {

// An xz block names the size of its dictionary, and liblzma takes memory for it. `xz -9` needs 65 MiB; the limit is
// that of zstd, a dictionary of 128 MiB, and room for the tables of the decoder.
constexpr std::uint64_t max_memory = (std::uint64_t{128} << 20) + (std::uint64_t{1} << 20);

class XzDecoder final : public StreamDecoder {
 public:
  XzDecoder() = default;
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;
  ~XzDecoder() override { ::lzma_end(&stream_); }

  std::optional<StreamFault> begin(const CompressedInput& /*input*/) override {
    return fault(::lzma_stream_decoder(&stream_, max_memory, LZMA_TELL_UNSUPPORTED_CHECK));
  }

  Step decode(CompressedInput& input, std::span<std::byte> out, Blocks /*blocks*/) override {
    stream_.next_in = input.next();
    stream_.avail_in = input.available();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret code = ::lzma_code(&stream_, LZMA_RUN);
    input.advance(input.available() - stream_.avail_in);
    Step step{.made = out.size() - stream_.avail_out, .ended = code == LZMA_STREAM_END, .fault = fault(code)};
    if (step.fault) ::lzma_end(&stream_);  // it would count the memory that it did not take
    return step;
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(sizeof(*this) + ::lzma_memusage(&stream_));
  }

 private:
  static std::optional<StreamFault> fault(lzma_ret code) {
    switch (code) {
      case LZMA_OK:
      case LZMA_STREAM_END:
      case LZMA_BUF_ERROR:  // neither input nor room: the caller finds out which
        return {};
      case LZMA_MEM_ERROR:
        return {{"no memory for decompression", Code::io, Detail::resource_exhausted}};
      case LZMA_MEMLIMIT_ERROR:
        return {{fmt::format("the xz data needs more than {} bytes of memory, which is the limit; compress the file "
                             "again with a smaller dictionary (`xz -9` or less)",
                             max_memory),
                 Code::data, Detail::resource_exhausted}};
      case LZMA_UNSUPPORTED_CHECK:
      case LZMA_OPTIONS_ERROR:
        return {{"the xz data uses a filter or a checksum that liblzma does not know"}};
      default:
        return {{"corrupt xz data: wrong checksum or structure"}};
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace

std::unique_ptr<StreamDecoder> xz_decoder() { return std::make_unique<XzDecoder>(); }

}  // namespace forebay::io
