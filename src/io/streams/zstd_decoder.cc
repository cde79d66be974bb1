// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "io/streams/stream_decoder.h"

namespace forebay::io {
namespace {

// zstd takes memory for the window whose size a frame names. 27 (128 MiB) is the size that `zstd --long` writes, and
// the largest that `zstd -d` reads without a further option.
constexpr int max_window_log = 27;
constexpr std::size_t first_input = 6;  // bytes of a frame; then zstd returns how many it needs
constexpr std::size_t max_header = 18;  // bytes of a frame's header

class ZstdDecoder final : public StreamDecoder {
 public:
  ZstdDecoder() : context_{::ZSTD_createDCtx()} {
    if (context_ != nullptr) ::ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, max_window_log);
  }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;
  ~ZstdDecoder() override { ::ZSTD_freeDCtx(context_); }

  std::optional<StreamFault> begin(const CompressedInput& /*input*/) override {
    if (context_ == nullptr) return fault(ZSTD_error_memory_allocation);
    ::ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
    wanted_ = first_input;
    header_bytes_ = 0;
    made_ = 0;
    return {};
  }

  /// Gives zstd as much input as it asked for, so that one call decodes one block. After an error, zstd has lost the
  /// content of the whole call and does not report its position.
  Step decode(CompressedInput& input, std::span<std::byte> out, Blocks /*blocks*/) override {
    ZSTD_inBuffer in{input.next(), std::min<std::size_t>(input.available(), std::max<std::size_t>(wanted_, 1)), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t left = ::ZSTD_decompressStream(context_, &to, &in);
    if (::ZSTD_isError(left) != 0) return {.fault = fault(::ZSTD_getErrorCode(left))};
    keep_header({input.next(), in.pos});
    input.advance(in.pos);
    wanted_ = left;
    made_ += to.pos;
    if (left == 0 && !has_named_size())
      return {.made = to.pos, .fault = {{"corrupt zstd data: a frame names another size than that of its content"}}};
    return {.made = to.pos, .ended = left == 0};
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(sizeof(*this) + ::ZSTD_sizeof_DCtx(context_));
  }

 private:
  void keep_header(std::span<const std::uint8_t> used) {
    const auto more = used.first(std::min(used.size(), max_header - header_bytes_));
    std::ranges::copy(more, header_.begin() + static_cast<std::ptrdiff_t>(header_bytes_));
    header_bytes_ += more.size();
  }

  /// A header may name the size of the content. zstd does not compare it when the last block is empty.
  [[nodiscard]] bool has_named_size() const {
    const auto size = ::ZSTD_getFrameContentSize(header_.data(), header_bytes_);
    return size == ZSTD_CONTENTSIZE_UNKNOWN || size == made_;
  }

  static StreamFault fault(ZSTD_ErrorCode code) {
    switch (code) {
      case ZSTD_error_memory_allocation:
        return {"no memory for decompression", Code::io, Detail::resource_exhausted};
      case ZSTD_error_frameParameter_windowTooLarge:
        return {fmt::format("a zstd frame needs a window of more than {} bytes, which is the limit; compress the file "
                            "again with a smaller window (`zstd --long=27` or less)",
                            1 << max_window_log),
                Code::data, Detail::resource_exhausted};
      case ZSTD_error_dictionary_wrong:
        return {"the zstd data needs a dictionary, which is not supported; compress the file again without one"};
      case ZSTD_error_checksum_wrong:
        return {"corrupt zstd data: wrong checksum"};
      default:
        return {fmt::format("corrupt zstd data: {}", ::ZSTD_getErrorString(code))};
    }
  }

  ZSTD_DCtx* const context_;  // null: no memory
  std::size_t wanted_ = first_input;
  std::array<std::uint8_t, max_header> header_{};  // the first bytes of the frame
  std::size_t header_bytes_ = 0;
  std::uint64_t made_ = 0;  // bytes of content of the frame
};

}  // namespace

std::unique_ptr<StreamDecoder> zstd_decoder() { return std::make_unique<ZstdDecoder>(); }

}  // namespace forebay::io
