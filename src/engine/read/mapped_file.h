// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/read/sigbus_guard.h"
#include "io/file.h"

namespace forebay::engine {

/// A whole local file in memory, read-only and catch_all against truncation (bus_guard.h). 64 bytes behind its end may
/// be read.
class MappedFile {
  struct Token {};  // only `map` has one

 public:
  /// As large as it was when it was opened; it need not stay open. Fails with Code::io for what cannot be mapped, like
  /// an empty file, or one more than the system allows: it can then be read as a stream.
  [[nodiscard]] static Result<std::unique_ptr<MappedFile>> map(const io::File& file);
  // For `map`.
  MappedFile(Token, std::byte* data, std::size_t reserved, const io::File::Identity& identity);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] bool corrupt() const;
  [[nodiscard]] const io::File::Identity& identity() const { return identity_; }
  void will_need(std::size_t offset, std::size_t length);  ///< Starts reading a range that is not cached.
  /// Fills `out` from `offset`, with fewer bytes where the file ends, and gives the pages back to the system.
  std::size_t copy(std::span<std::byte> out, std::int64_t offset);
  /// Gives the pages of a range back to the system; reading them again is slower but right.
  void forget(std::size_t offset, std::size_t length);

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t reserved_;
  io::File::Identity identity_;
  GuardedRange& guard_;
};

}  // namespace forebay::engine
