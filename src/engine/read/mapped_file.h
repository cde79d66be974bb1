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

/// A read-only mapping of a whole local file, guarded against truncation (sigbus_guard.h). 64 bytes after its end may
/// be read. Its blocks and PassCache share it. Any thread may call.
///
///     file      [ header payload trailer | header payload trailer | … ]
///     mapping   [ the same pages, of which another process may change any byte at any time          ] + 64 bytes
///                 │ FileReader looks for frames      │ Executor copies records, then checks the copies
///
/// Bytes of a mapping are therefore not given to a decoder. They are copied to private memory, and the copy is checked
/// and decoded (ADR 0009); only records that nothing checks may be copied by the decoder (ADR 0060). Only a length in a
/// header is used in place, after its own checksum; a record of a wrong length fails the checksum of its payload.
class MappedFile {
  struct Token {};  // only `map` has one

 public:
  /// Maps the file with the size that it had when it was opened. The file need not stay open. Fails with Code::io when
  /// the file cannot be mapped: it is empty, or the process has too many mappings. Such a file is read as a stream.
  [[nodiscard]] static Result<std::unique_ptr<MappedFile>> map(const io::File& file);
  /// Whether the process has mapped so many files that the next one should be read as a stream: a quarter of the
  /// mappings that the system allows a process. Without any left, no memory could be taken either.
  [[nodiscard]] static bool too_many();
  /// The most mappings that a cache may own: half of those after which `too_many` is true.
  [[nodiscard]] static std::int64_t max_cached();
  // For `map`.
  MappedFile(Token, std::byte* data, std::size_t reserved, const io::File::Identity& identity);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Whether `bytes` begin inside the mapping.
  [[nodiscard]] bool holds(std::span<const std::byte> bytes) const {
    return bytes.data() >= data_ && bytes.data() < data_ + reserved_;
  }
  [[nodiscard]] bool corrupt() const;  ///< Whether a read has met a page that the file no longer has.
  [[nodiscard]] const io::File::Identity& identity() const { return identity_; }
  /// Describes how the file at `path` differs from the mapped version: "it had 12 bytes, now 15". Empty when they are
  /// equal. When `path` names another file or none, only a truncation that was met is reported (`corrupt`).
  [[nodiscard]] std::string change(const std::string& path) const;
  void will_need(std::size_t offset, std::size_t length);  ///< Starts reading a range ahead; does not wait.
  /// Copies bytes from `offset` to `out`, gives their pages back to the system, and returns the number of bytes: fewer
  /// than `out` where the file ends. After a truncation the bytes are zeros, so the caller asks `corrupt` afterwards.
  std::size_t copy(std::span<std::byte> out, std::int64_t offset);
  /// Gives the whole pages of a range back to the system. They may be read again; each then costs a page fault.
  void forget(std::size_t offset, std::size_t length);

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t reserved_;
  io::File::Identity identity_;
  GuardedRange& guard_;
};

}  // namespace forebay::engine
