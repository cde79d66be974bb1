// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <isa-l/igzip_lib.h>

#include "io/inflate.h"

namespace forebay::io {

/// One file as it is inflated: ISA-L's decoder, its input, and the search for restart points.
struct Inflater::State {
  static constexpr std::size_t piece_bytes = 256 * 1024;
  // The decoder may have taken up to 8 bytes beyond the end of a stream into its bit buffer; they are still here.
  static constexpr std::size_t kept_bytes = 16;
  // Then the search for a block's beginning is given up for a while: files of a single block exist.
  static constexpr std::int64_t max_morsels = 8192;
  static constexpr std::int64_t max_offset = std::int64_t{1} << 62;

  inflate_state stream;
  Compression compression = Compression::gzip;
  bool between = true;  ///< At the beginning of a stream (or of the file), nothing of it used yet.
  bool first = true;    ///< No stream has begun yet.
  bool zeros = false;   ///< May stand behind the last stream.
  bool padded = false;  ///< Some did: nothing else may follow.
  bool ended = false;   ///< Nothing comes any more.
  bool at_end = false;  ///< All of the file is in `buffer`.
  int stalled = 0;
  std::int64_t offset = 0;        ///< Of the next byte to read from the file.
  std::int64_t produced = 0;      ///< Content up to here has been given out.
  std::int64_t stream_begin = 0;  ///< Content that the present stream begins with.
  bool doubtful = false;          ///< This stream is corrupt.
  std::int64_t max = max_offset;  ///< Content behind it is a fault.
  bool resumed = false;           ///< At a restart point, nothing read yet.
  std::uint8_t used_bits = 0;
  bool unverified = false;         ///< This stream was entered in its middle.
  std::uint32_t trailer_left = 0;  ///< Bytes to be skipped.
  std::int64_t interval = 0;       ///< Of restart points; 0 when none are collected.
  std::int64_t next_point = 0;     ///< From this content on one is looked for.
  std::int64_t morsels_left = 0;   ///< Until the search is given up.
  std::vector<RestartPoint> points;
  std::optional<Error> failure;
  std::uint8_t buffer[kept_bytes + piece_bytes];

  [[nodiscard]] std::int64_t consumed() const { return offset - std::int64_t{stream.avail_in}; }
  [[nodiscard]] Error fault(const File& file, std::string what) const;
  [[nodiscard]] Error broken(const File& file, std::string what);
  [[nodiscard]] Error truncated(const File& file);
  [[nodiscard]] Error too_much(const File& file) const;
  Result<void> refill(const File& file);
  Result<bool> skip_zeros(const File& file);
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

}  // namespace forebay::io
