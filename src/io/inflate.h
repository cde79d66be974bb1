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

inline constexpr std::size_t window_bytes = 32 * 1024;  ///< The farthest that deflated data looks back.

/// A place in a gzip or zlib file from which inflating can begin.
struct RestartPoint {
  enum class At : std::uint8_t { stream, block };  ///< Begin of a member (stream), or of a deflate block inside one.
  At at = At::stream;
  std::uint8_t bit = 0;           ///< Bits of the byte at `compressed` that belong to what came before, 0 … 7.
  std::int64_t compressed = 0;    ///< Byte of the file.
  std::int64_t uncompressed = 0;  ///< Byte of the inflated content that comes next.
  std::vector<std::byte> window;  ///< Of a block: the content before it in its stream, the last `window_bytes`.

  bool operator==(const RestartPoint&) const = default;
};

/// Inflates a gzip or zlib file from its beginning or a restart point. All members (streams) are read as one; every
/// trailer is verified.
class Inflater {
 public:
  /// What may stand behind the last member.
  enum class Behind : std::uint8_t { nothing, zeros };
  /// `compression` must be gzip or zlib.
  [[nodiscard]] static Result<Inflater> make(Compression compression, Behind behind = Behind::nothing);
  /// Goes on where `point` was collected. Nothing about the point is trusted: one that cannot be fails with Code::data,
  /// here or in `read`, and one that is wrong gives wrong bytes. The trailer of the stream that a block point lies in
  /// cannot be verified; those of the streams behind it are.
  [[nodiscard]] static Result<Inflater> resume(Compression compression, const RestartPoint& point,
                                               Behind behind = Behind::nothing);

  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;
  ~Inflater();

  /// Fills `out` (not empty) with the next inflated bytes; fewer only before the end or a fault. 0 is the clean end
  /// or, before `ended` says so, a pause: of the zeros behind the last member, one call passes 8 MiB.
  ///
  /// Corrupt, cut or trailing bytes fail with Code::data, data_loss; the message names the compressed offset, the
  /// place only the file. Bytes inflated before the fault are given out first. A failure repeats. What has been given
  /// out of a member whose trailer then turns out wrong cannot be taken back.
  [[nodiscard]] Result<std::size_t> read(const File& file, std::span<std::byte> out);

  [[nodiscard]] bool ended() const;  ///< The clean end has been reached.

  /// From now on content that lies behind `most` bytes from the beginning of the file is a fault, Code::data,
  /// resource_exhausted: what is compressed a thousandfold should not keep anybody busy for hours.
  void limit(std::int64_t max);
  /// From now on (before the first `read`) restart points are collected: where the first stream begins, then where a
  /// stream or block begins, about every `interval` bytes of content. Blocks can be longer than that.
  void collect(std::int64_t interval);
  /// The points found since the last call, in their order.
  [[nodiscard]] std::vector<RestartPoint> take_points();

  [[nodiscard]] std::int64_t consumed() const;  ///< Compressed bytes used up so far.
  [[nodiscard]] std::int64_t produced() const;  ///< Where in the content the next inflated byte stands.
  /// Behind corrupt data: where in the content their stream begins, for what was given out of it may be wrong, although
  /// it could be inflated. Behind any other fault, and without one: produced(). What a file that was cut has is right.
  [[nodiscard]] std::int64_t sound() const;
  [[nodiscard]] static std::int64_t bytes();  ///< That each takes, points that are collected apart.

 private:
  struct State;
  explicit Inflater(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace forebay::io
