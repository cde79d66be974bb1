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

/// Mapped files, open once more: to read a record costs a fraction of what it costs to map its pages, which come by
/// sixteen, and to give them back. Few are open at once, however many there are. Any thread may call.
class FileCache {
 public:
  /// `paths`, by the numbers of the files, and `check` must stay.
  FileCache(std::span<const std::string> paths, const StopCheck& check) : paths_{paths}, check_{check} {}

  /// A piece of a file, and where it goes.
  struct Wanted {
    std::uint32_t file = 0;
    std::int64_t offset = 0;
    MappedFile* mapping = nullptr;
    std::span<std::byte> out;
    std::size_t got = 0;  ///< Bytes of it; fewer where the file ends.
  };
  /// Reads what is in memory, has the system fetch the rest, all at once, and then waits for it. Of a file that is not
  /// there any more, or is another one now, the mapping is read. Fails with Code::io; the row is the place in `wanted`.
  /// Throws what the check does.
  [[nodiscard]] Result<void> read(std::span<Wanted> wanted) EXCLUDES(mutex_);

 private:
  [[nodiscard]] Result<void> read_rest(const io::File* file, Wanted& piece) const;
  [[nodiscard]] std::shared_ptr<const io::File> find(const Wanted& piece) EXCLUDES(mutex_);

  static constexpr std::size_t max_open = 64;
  struct Kept {
    std::uint32_t number = 0;
    std::shared_ptr<const io::File> file;
  };
  const std::span<const std::string> paths_;
  const StopCheck& check_;
  Mutex mutex_;
  std::array<Kept, max_open> kept_ GUARDED_BY(mutex_);  // a file has its place by its number
};

}  // namespace forebay::engine
