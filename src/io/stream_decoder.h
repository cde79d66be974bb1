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
  Result<void> refill(const File& file);
  /// Goes on at another byte of the file; the buffer is empty then.
  void seek(std::int64_t offset);

  [[nodiscard]] std::uint8_t* next() { return next_; }
  [[nodiscard]] std::span<const std::uint8_t> unused() const { return {next_, available_}; }
  [[nodiscard]] std::uint32_t available() const { return available_; }
  void advance(std::size_t bytes) {
    next_ += bytes;
    available_ -= static_cast<std::uint32_t>(bytes);
  }
  /// Makes bytes unused again that were used before: at most `past_bytes`, and only bytes that were read.
  void step_back(std::size_t bytes) {
    next_ -= bytes;
    available_ += static_cast<std::uint32_t>(bytes);
  }
  [[nodiscard]] bool at_end() const { return at_end_; }  ///< The rest of the file is in the buffer.
  [[nodiscard]] std::int64_t offset() const { return read_ - std::int64_t{available_}; }  ///< Of next() in the file.

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

/// Decodes the streams of a file: gzip members, zlib streams or zstd frames. Used by one Inflater, which gives it one
/// stream after the other, reads the file and finds what stands between and after the streams.
class StreamDecoder {
 public:
  struct Step {
    std::size_t made = 0;               ///< Bytes of content written to the beginning of `out`.
    bool ended = false;                 ///< The stream was complete and its checksum right; the input stands after it.
    bool repeated = false;              ///< Content was made, but again: the input may be used up although none came.
    std::optional<StreamFault> fault;   ///< After the bytes made.
    std::optional<RestartPoint> block;  ///< A block begins here; `uncompressed` is not set.
  };
  enum class Blocks : std::uint8_t { pass, find };

  virtual ~StreamDecoder() = default;
  /// A stream begins here. Nothing is used of the input, which has the first 4 bytes if the file has them.
  virtual std::optional<StreamFault> begin(const CompressedInput& input) = 0;
  /// Decodes some input, as much as there is room and input for, with Blocks::find at most to the end of a block. No
  /// byte made and none used: the input ended too early.
  virtual Step decode(CompressedInput& input, std::span<std::byte> out, Blocks blocks) = 0;
  [[nodiscard]] virtual std::int64_t bytes() const = 0;  ///< Memory that it holds.
};

/// Decodes gzip and zlib by ISA-L.
[[nodiscard]] std::unique_ptr<StreamDecoder> isal_decoder(Compression compression);
/// The same, inside a stream: at the block that `point` names. Empty: ISA-L did not take the history.
[[nodiscard]] std::unique_ptr<StreamDecoder> isal_decoder_at(Compression compression, const RestartPoint& point);
/// Decodes zstd frames. Skippable frames are streams without content.
[[nodiscard]] std::unique_ptr<StreamDecoder> zstd_decoder();
/// Decodes gzip and zlib by zlib, and finds blocks. A stream that zlib refuses is decoded again by ISA-L, which
/// decides: the bytes and the faults are those of `isal_decoder`.
[[nodiscard]] std::unique_ptr<StreamDecoder> block_finder(Compression compression);

inline constexpr std::uint32_t first_adler = 1;  ///< Of no bytes.
/// The CRC-32 (gzip) or the Adler-32 (zlib) of content, from that of the content before it.
[[nodiscard]] std::uint32_t checksum_of(Compression compression, std::uint32_t before,
                                        std::span<const std::byte> bytes);
/// As the 4 bytes at the end of a zlib stream say it.
[[nodiscard]] constexpr std::uint32_t stored_adler(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 24 | static_cast<std::uint32_t>(at[1]) << 16 |
         static_cast<std::uint32_t>(at[2]) << 8 | at[3];
}

[[nodiscard]] std::string_view name_of(Compression compression);
/// Whether a stream can begin with these bytes (at least one; 4 decide).
[[nodiscard]] bool can_begin(Compression compression, std::span<const std::uint8_t> head);

}  // namespace forebay::io
