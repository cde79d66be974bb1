// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forebay/plugin.h>

#include "io/file.h"

namespace forebay::io {

inline constexpr std::size_t history_bytes = 32 * 1024;  ///< Bytes that a copy in deflate data looks back at most.

/// A place in a compressed file where decompression can begin.
///
///   file      | member 1: header  block  block  block  trailer | member 2: header  block  …
///             ^                          ^                     ^
///             at = stream                at = block            at = stream
///             needs nothing before it    needs the last 32 KiB of content before it (`history`), and begins
///                                        inside a byte: after its lowest `bit` bits
///
/// A stream is a gzip member, a zstd frame, or a stream of zlib, bzip2 or xz. Only gzip and zlib have block points:
/// the blocks of a zstd frame need all of the frame before them, so a file of one frame has one point, its beginning.
/// bzip2 and xz files are the same: they have points where their streams begin.
struct RestartPoint {
  enum class At : std::uint8_t { stream, block };
  At at = At::stream;
  std::uint8_t bit = 0;            ///< Bits of the byte at `compressed` that belong to the block before, 0 … 7.
  std::int64_t compressed = 0;     ///< Byte of the file.
  std::int64_t uncompressed = 0;   ///< Byte of the content that decompression gives next.
  std::vector<std::byte> history;  ///< Of a block: the content of its stream before it, at most `history_bytes`.

  bool operator==(const RestartPoint&) const = default;
};

/// Decompresses one gzip, zlib, zstd, bzip2 or xz file, from its beginning or from a restart point. The contents of its
/// streams follow one another. The checksum of each stream is verified; a zstd frame or an xz stream may have none.
/// Zeros between and after xz streams, a multiple of four, are padding of the format.
///
/// Its owner calls it from one thread at a time, always with the same file. A failure is final: every later `read`
/// repeats it.
class Inflater {
 public:
  /// Which bytes may follow the last stream.
  enum class Trailing : std::uint8_t { nothing, zeros };
  /// Fails with Code::internal for `none` and `automatic`.
  [[nodiscard]] static Result<Inflater> make(Compression compression, Trailing trailing = Trailing::nothing);
  /// Begins at `point`. An impossible point fails with Code::data, here or in `read`. A wrong point gives wrong bytes.
  /// The checksum of a stream that is entered at a block point cannot be verified; those of the streams after it are.
  [[nodiscard]] static Result<Inflater> resume(Compression compression, const RestartPoint& point,
                                               Trailing trailing = Trailing::nothing);

  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;
  ~Inflater();

  /// Fills `out` (not empty) with the next bytes of content and returns their number.
  ///
  /// Fewer bytes than `out` come before the end, before a fault, and before a pause. 0 bytes are the end if `ended` is
  /// true, else a pause: the call has passed many compressed bytes without content, or the next ones are not ready
  /// (`hungry`). The caller can check whether to stop before it calls again.
  ///
  /// A zstd frame with a window of more than 128 MiB, or an xz stream with such a dictionary, fails with Code::data,
  /// resource_exhausted, before memory is taken.
  /// Corrupt, truncated or trailing bytes fail with Code::data, data_loss. The message names the compressed byte; the
  /// place has only the file. Content before the fault is returned first. A wrong checksum at the end of a stream means
  /// that content which was returned before may be wrong (`sound`).
  [[nodiscard]] Result<std::size_t> read(const RandomAccessFile& file, std::span<std::byte> out);

  [[nodiscard]] bool ended() const;  ///< The end was reached, without a fault.
  [[nodiscard]] bool cut() const;    ///< The fault is that the file ends inside a stream.

  /// Limits the content of the file. More than `max` bytes fail with Code::data, resource_exhausted.
  void limit(std::int64_t max);
  /// Collects restart points from the next stream on. Called before the first `read`. The first point is the beginning
  /// of that stream. The others are streams and blocks about every `interval` bytes of content, or fewer when blocks
  /// are longer. Content and faults do not change. gzip and zlib data is then decompressed by zlib, which reports where
  /// blocks begin and is slower than ISA-L.
  void collect(std::int64_t interval);
  /// The points found since the last call, in the order of the file.
  [[nodiscard]] std::vector<RestartPoint> take_points();

  [[nodiscard]] std::int64_t consumed() const;  ///< Offset in the file of the next compressed byte.
  /// Offset in the file of the next byte that is read. The bytes before it are consumed, or in memory.
  [[nodiscard]] std::int64_t read_up_to() const;
  [[nodiscard]] bool hungry() const;            ///< The next `read` begins with reading bytes of the file.
  [[nodiscard]] std::int64_t produced() const;  ///< Offset in the content of the next byte.
  /// Offset up to which the content is right. After a fault in corrupt data: the beginning of the corrupt stream's
  /// content, as any byte of it may be wrong. Else produced(): the content of a truncated file is right up to its end.
  [[nodiscard]] std::int64_t sound() const;
  /// Offset up to which checksums were compared: where the content of the current stream begins, or produced() between
  /// two streams.
  [[nodiscard]] std::int64_t verified() const;
  /// Bytes of memory that the inflater holds now, without collected points.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct State;
  explicit Inflater(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace forebay::io
