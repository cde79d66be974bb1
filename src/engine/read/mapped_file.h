// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/read/sigbus_guard.h"
#include "io/file.h"

namespace forebay::engine {

/// A whole local file in memory, read-only, guarded against truncation (sigbus_guard.h). 64 bytes after its end may be
/// read. Any thread may call.
///
///     file      [ header payload trailer | header payload trailer | … ]
///     mapping   [ the same pages, of which another process may change any byte at any time          ] + 64 bytes
///                 │ FileReader looks for frames      │ Executor copies records, then checks the copies
///
/// Bytes of a mapping are therefore never given to a decoder: they are copied to private memory, and what is checked
/// and decoded is the copy (ADR 0009). Only a length in a header is used in place, after its own checksum; a record of
/// a wrong length fails the checksum of its payload.
class MappedFile {
  struct Token {};  // only `map` has one

 public:
  /// Maps the file as large as it was when it was opened. The file need not stay open. Fails with Code::io for what
  /// cannot be mapped, such as an empty file, or one more than the system allows; such a file is read as a stream.
  [[nodiscard]] static Result<std::unique_ptr<MappedFile>> map(const io::File& file);
  // For `map`.
  MappedFile(Token, std::byte* data, std::size_t reserved, const io::File::Identity& identity);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] bool holds(std::span<const std::byte> bytes) const {
    return bytes.data() >= data_ && bytes.data() < data_ + reserved_;
  }
  [[nodiscard]] bool corrupt() const;  ///< Whether a page that was read is no longer there.
  [[nodiscard]] const io::File::Identity& identity() const { return identity_; }
  /// Describes how the file differs from the one that was mapped, by its present name: "it had 12 bytes, now 15". Empty
  /// when it does not differ, and when it has lost its name: then only `corrupt` tells.
  [[nodiscard]] std::string change(const std::string& path) const;
  void will_need(std::size_t offset, std::size_t length);  ///< Starts reading a range that is not cached.
  /// Fills `out` from `offset`, with fewer bytes where the file ends, and gives the pages back to the system. The bytes
  /// are to be checked afterwards.
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
