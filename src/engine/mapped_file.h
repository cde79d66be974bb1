// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/file.h"

namespace forebay::engine {

/// A whole local file in memory, read-only and guarded against truncation (bus_guard.h). 64 bytes behind its end may be
/// read.
class MappedFile {
  struct Token {};  // only `map` has one

 public:
  /// What a file is known by: another file under the same name, or other content, has another identity.
  struct Identity {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0, changed_ns = 0;
    bool operator==(const Identity&) const = default;
  };

  /// Null when this file cannot be mapped; it is then read as a stream.
  [[nodiscard]] static std::unique_ptr<MappedFile> map(const io::File& file);
  // For `map`.
  MappedFile(Token, std::byte* data, std::size_t size, std::size_t reserved, int guard, const Identity& identity)
      : data_{data}, size_{size}, reserved_{reserved}, guard_{guard}, identity_{identity} {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] bool damaged() const;
  [[nodiscard]] const Identity& identity() const { return identity_; }
  void will_need(std::size_t offset, std::size_t length);  ///< Starts reading a range that is not cached.
  /// Gives the pages of a range back to the system; reading them again is slower but right.
  void forget(std::size_t offset, std::size_t length);

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t reserved_;
  int guard_;
  Identity identity_;
};

[[nodiscard]] MappedFile::Identity identity_of(const io::File& file);

}  // namespace forebay::engine
