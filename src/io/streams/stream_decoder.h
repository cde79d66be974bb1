// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/inflate.h"

namespace forebay::io {

/// The compressed bytes of one file, read in pieces of 256 KiB. Owned by an Inflater, used on its thread.
///
///   buffer   | … the last bytes used (`past_bytes`) | bytes not used yet … |
///                                                   ^ next()
class CompressedInput {
 public:
  static constexpr std::size_t piece_bytes = 256 * 1024;
  static constexpr std::size_t past_bytes = 16;

  explicit CompressedInput(std::int64_t offset) : read_{offset} {}

  /// Reads the next piece. At most `past_bytes` bytes may be unused.
  Result<void> refill(const RandomAccessFile& file);
  /// Continues at another byte of the file. Empties the buffer.
  void seek(std::int64_t offset);

  [[nodiscard]] std::uint8_t* next() { return next_; }
  [[nodiscard]] std::span<const std::uint8_t> unused() const { return {next_, available_}; }
  [[nodiscard]] std::uint32_t available() const { return available_; }
  void advance(std::size_t bytes) {
    next_ += bytes;
    available_ -= static_cast<std::uint32_t>(bytes);
  }
  /// Makes the last used bytes unused again: at most `past_bytes`, and only bytes that were read.
  void step_back(std::size_t bytes) {
    next_ -= bytes;
    available_ += static_cast<std::uint32_t>(bytes);
  }
  [[nodiscard]] bool at_end() const { return at_end_; }  ///< The rest of the file is in the buffer.
  /// Offset of next() in the file.
  [[nodiscard]] std::int64_t offset() const { return read_ - std::int64_t{available_}; }
  [[nodiscard]] std::int64_t read_up_to() const { return read_; }  ///< Offset of the next byte to read.

 private:
  std::int64_t read_;  // offset of the next byte to read
  bool at_end_ = false;
  std::uint32_t available_ = 0;
  std::uint8_t* next_ = buffer_ + past_bytes;
  std::uint8_t buffer_[past_bytes + piece_bytes];  // not initialized
};

/// Why a stream cannot be decoded.
struct StreamFault {
  std::string what;
  Code code = Code::data;
  Detail detail = Detail::data_loss;
};

/// Decodes the streams of a file: gzip members, zstd frames, streams of zlib, bzip2 or xz. One Inflater owns it and
/// calls it on its thread. The Inflater gives it one stream after the other, reads the file, and handles the bytes
/// between and after the streams. Faults are returned; only std::bad_alloc is thrown.
class StreamDecoder {
 public:
  struct Step {
    std::size_t made = 0;               ///< Bytes of content written to the beginning of `out`.
    bool ended = false;                 ///< The stream was complete and its checksum right; the input stands after it.
    bool repeated = false;              ///< The stream is decoded again from its beginning; no new content yet.
    std::optional<StreamFault> fault;   ///< After the bytes made.
    std::optional<RestartPoint> block;  ///< A block begins here; `uncompressed` is not set.
  };
  enum class Blocks : std::uint8_t { pass, find };

  virtual ~StreamDecoder() = default;
  /// Called at the beginning of a stream. Uses no input. The input has the first 4 bytes, or all bytes of the file.
  virtual std::optional<StreamFault> begin(const CompressedInput& input) = 0;
  /// Decodes input until `out` is full or the input is used up; with Blocks::find, at most to the end of a block. When
  /// no byte is made and none is used, the input has ended too early.
  virtual Step decode(CompressedInput& input, std::span<std::byte> out, Blocks blocks) = 0;
  [[nodiscard]] virtual std::int64_t bytes() const = 0;  ///< Bytes of memory that the decoder holds.
};

/// Decodes gzip and zlib by ISA-L.
[[nodiscard]] std::unique_ptr<StreamDecoder> isal_decoder(Compression compression);
/// As `isal_decoder`, but begins inside a stream, at the block of `point`. Null: ISA-L did not take the history.
[[nodiscard]] std::unique_ptr<StreamDecoder> isal_decoder_at(Compression compression, const RestartPoint& point);
/// Decodes zstd frames. Skippable frames are streams without content.
[[nodiscard]] std::unique_ptr<StreamDecoder> zstd_decoder();
[[nodiscard]] std::unique_ptr<StreamDecoder> bzip2_decoder();
/// Decodes xz streams. One that needs more than about 128 MiB of memory is a fault, before the memory is taken.
[[nodiscard]] std::unique_ptr<StreamDecoder> xz_decoder();
/// Whether data of this compression has blocks at which decompression can begin (RestartPoint::At::block).
[[nodiscard]] constexpr bool has_block_points(Compression compression) {
  return compression == Compression::gzip || compression == Compression::zlib;
}
/// Decodes gzip and zlib by zlib, and finds blocks. A stream that zlib refuses is decoded again by ISA-L, so that the
/// bytes and the faults are those of `isal_decoder`.
[[nodiscard]] std::unique_ptr<StreamDecoder> block_finder(Compression compression);

inline constexpr std::uint32_t first_adler = 1;  ///< The Adler-32 of no bytes.
/// The CRC-32 (gzip) or the Adler-32 (zlib) of content that follows content with the checksum `before`.
[[nodiscard]] std::uint32_t checksum_of(Compression compression, std::uint32_t before,
                                        std::span<const std::byte> bytes);
/// The Adler-32 in the 4 bytes at the end of a zlib stream, which are big-endian.
[[nodiscard]] constexpr std::uint32_t stored_adler(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 24 | static_cast<std::uint32_t>(at[1]) << 16 |
         static_cast<std::uint32_t>(at[2]) << 8 | at[3];
}

[[nodiscard]] std::string_view name_of(Compression compression);
/// Whether a stream can begin with these bytes: at least 1; with 4 the answer is final.
[[nodiscard]] bool can_begin(Compression compression, std::span<const std::uint8_t> head);

}  // namespace forebay::io
