// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forebay/plugin.h>

namespace forebay::io {

/// Compresses bytes as one gzip member, one zlib stream, zstd frames, or streams of bzip2 or xz. A frame and a stream
/// have 2 MiB of content and a checksum, so that decompression can begin at each of them. Its owner calls it from one
/// thread at a time.
class Deflater {
 public:
  /// `level`: that of the library, small is fast; empty: its default. Fails with Code::config for a level that the
  /// compression does not have, with Code::internal for `none` and `automatic`.
  [[nodiscard]] static Result<Deflater> make(Compression compression, std::optional<std::int64_t> level = {});

  Deflater(Deflater&&) noexcept;
  Deflater& operator=(Deflater&&) noexcept;
  ~Deflater();

  /// Takes `bytes` and appends the compressed bytes that are ready to `out`.
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes, std::vector<std::byte>& out);
  /// Appends the rest and the trailer of a stream; what is written afterwards begins another stream, of gzip a member.
  [[nodiscard]] Result<void> finish(std::vector<std::byte>& out);

 private:
  struct State;
  explicit Deflater(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace forebay::io
