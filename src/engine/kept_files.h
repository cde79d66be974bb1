// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <forebay/record.h>

#include "engine/mapped_file.h"
#include "engine/sync.h"

namespace forebay::engine {

/// Where the records of a mapped file lie, block by block, as a scan of all of it has found them.
struct Frames {
  struct Block {
    std::size_t records = 0;   ///< So many of `extents`, whose offsets count from where the block begins …
    std::size_t consumed = 0;  ///< … and so many bytes.
  };
  std::vector<Block> blocks;
  std::vector<Extent> extents;

  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(extents.capacity() * sizeof(Extent) + blocks.capacity() * sizeof(Block));
  }
};

/// Mapped files that stay mapped from one pass to the next, as long as they fit: mapping a page again costs as much as
/// decoding the records in it. So do their frames, which later passes need not look for again: every length was checked
/// when they were found, and every payload still is. Any thread may call.
class KeptFiles {
 public:
  /// At most `limit` bytes. `passes`: whether files are gone through more than once, so that frames are worth keeping.
  explicit KeptFiles(std::int64_t limit, bool passes = false) : limit_{limit}, passes_{passes} {}

  struct Mapped {
    std::shared_ptr<MappedFile> file;      ///< Null when the file cannot be mapped.
    bool kept = false;                     ///< Its pages are accounted here, once.
    bool fresh = true;                     ///< Its pages have not been touched yet.
    std::shared_ptr<const Frames> frames;  ///< Of a kept file that was scanned to its end; else null.
  };
  /// The mapping of file `number`, which has been opened as `file`; a kept one only while the file is still the same.
  [[nodiscard]] Mapped map(std::uint32_t number, const io::File& file) EXCLUDES(mutex_);
  /// Keeps what a scan of a whole kept file has found, if there is room.
  void keep(std::uint32_t number, const MappedFile& file, Frames frames) EXCLUDES(mutex_);
  [[nodiscard]] std::int64_t bytes() const EXCLUDES(mutex_);
  /// What frames of a kept file may take.
  [[nodiscard]] std::int64_t room() const EXCLUDES(mutex_) { return passes_ ? limit_ - bytes() : 0; }

 private:
  struct Kept {
    std::shared_ptr<MappedFile> file;
    std::shared_ptr<const Frames> frames;
  };
  void forget(Kept& kept) REQUIRES(mutex_);

  const std::int64_t limit_;
  const bool passes_;
  mutable Mutex mutex_;
  std::vector<Kept> files_ GUARDED_BY(mutex_);  // by number
  std::int64_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::engine
