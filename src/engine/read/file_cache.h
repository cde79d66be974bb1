// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <forebay/column.h>

#include "engine/memory/sync.h"
#include "engine/read/mapped_file.h"
#include "io/file.h"

namespace forebay::engine {

/// Reads records of mapped files with `pread` when their pages are not mapped now. A read costs a fraction of mapping
/// the pages again: the system maps up to 16 pages at a page fault, and they must be given back afterwards.
///
/// At most 64 files are open. File n has slot n mod 64, and a file that is opened replaces the one in its slot. The
/// Executor owns the cache. Thread-safe: all workers and the consumer call it.
class FileCache {
 public:
  static constexpr std::size_t max_open = 64;
  /// `paths` are by number of the file. `paths` and `check` must outlive the cache.
  FileCache(std::span<const std::string> paths, const StopCheck& check) : paths_{paths}, check_{check} {}

  /// A piece of a file that is wanted in memory. The caller owns `mapping` and `out`.
  struct Wanted {
    std::uint32_t file = 0;
    std::int64_t offset = 0;
    MappedFile* mapping = nullptr;  ///< Says which version of the file is wanted.
    std::span<std::byte> out;       ///< Where the bytes are written.
    std::size_t got = 0;            ///< Bytes that were written. Fewer than `out` where the file ends; 0 when the file
                                    ///< was cut short and only the mapping was left.
  };
  /// Fills every piece. First reads the bytes that are in the page cache and asks the system to read all others ahead;
  /// then reads those and waits for the device. When the path now names another version, or no file, the bytes come
  /// from the mapping. Fails with Code::io; the row of the place is the index in `wanted`. Throws as the check does.
  [[nodiscard]] Result<void> read(std::span<Wanted> wanted) EXCLUDES(mutex_);

 private:
  [[nodiscard]] Result<void> read_rest(const io::File* file, Wanted& piece) const;
  [[nodiscard]] std::shared_ptr<const io::File> find(const Wanted& piece) EXCLUDES(mutex_);

  struct Kept {
    std::uint32_t number = 0;
    std::shared_ptr<const io::File> file;
  };
  const std::span<const std::string> paths_;
  const StopCheck& check_;
  Mutex mutex_;
  std::array<Kept, max_open> kept_ GUARDED_BY(mutex_);  // by number of the file mod max_open
};

}  // namespace forebay::engine
