// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forebay/format.h>

namespace forebay::io {

/// Compresses bytes as one stream after the other: zstd frames, or streams of bzip2 or xz. A Deflater owns it.
class StreamEncoder {
 public:
  enum class End : std::uint8_t { stream_goes_on, stream_ends };
  virtual ~StreamEncoder() = default;
  /// Adds content to the current stream, which this call begins if there is none, and appends compressed bytes to
  /// `out`. Fails with Code::io without memory.
  [[nodiscard]] virtual Result<void> write(std::span<const std::byte> bytes, End end, std::vector<std::byte>& out) = 0;
};

/// Null for compressions whose files are one stream: gzip and zlib. `level`: that of the library; empty: its default.
[[nodiscard]] std::unique_ptr<StreamEncoder> stream_encoder(Compression compression, std::optional<int> level);

}  // namespace forebay::io
