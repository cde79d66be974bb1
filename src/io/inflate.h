// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <forebay/plugin.h>

#include "io/file.h"

namespace forebay::io {

/// Inflates a gzip or zlib file from its beginning. All members (streams) are read as one; every trailer is verified.
class Inflater {
 public:
  /// What may stand behind the last member.
  enum class Behind : std::uint8_t { nothing, zeros };
  /// `compression` must be gzip or zlib.
  [[nodiscard]] static Result<Inflater> make(Compression compression, Behind behind = Behind::nothing);

  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;
  ~Inflater();

  /// Fills `out` (not empty) with the next inflated bytes; fewer only before the end or a fault, 0 is the clean end.
  ///
  /// Corrupt, cut or trailing bytes fail with Code::data, data_loss; the message names the compressed offset, the
  /// place only the file. Bytes inflated before the fault are given out first. A failure repeats. What has been given
  /// out of a member whose trailer then turns out wrong cannot be taken back.
  [[nodiscard]] Result<std::size_t> read(const File& file, std::span<std::byte> out);

  [[nodiscard]] std::int64_t consumed() const;  ///< Compressed bytes used up so far.

 private:
  struct State;
  explicit Inflater(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace forebay::io
