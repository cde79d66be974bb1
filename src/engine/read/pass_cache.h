// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <forebay/record.h>

#include "engine/memory/sync.h"
#include "engine/read/mapped_file.h"

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

/// What a compressed file holds, block by block, as a scan of all of it has found it.
struct Content {
  struct Block {
    std::shared_ptr<const std::byte> bytes;
    std::vector<Extent> records;
    std::int64_t end = 0;         ///< Where the next block begins in the uncompressed file.
    std::int64_t read = 0;        ///< Bytes of the file up to there.
    std::shared_ptr<void> claim;  ///< To its place among what is kept.
  };
  std::vector<Block> blocks;
};

/// What is kept of files from one pass to the next, as long as it fits. Mapped files stay mapped: mapping a page again
/// costs as much as decoding the records in it. So do their frames, which later passes need not look for again: every
/// length was checked when they were found, and every payload still is. Of compressed files the content is kept, in no
/// more than half of the room, and until memory runs short. Any thread may call.
class PassCache {
 public:
  /// At most `limit` bytes. `passes`: whether files are gone through more than once, so that frames are worth keeping.
  explicit PassCache(std::int64_t limit, bool passes = false) : limit_{limit}, passes_{passes} {}

  struct Mapped {
    std::shared_ptr<MappedFile> file;      ///< Null when the file cannot be mapped …
    std::optional<Error> error;            ///< … for this reason.
    bool kept = false;                     ///< Its pages are accounted here, once.
    bool fresh = true;                     ///< Its pages have not been touched yet.
    std::shared_ptr<const Frames> frames;  ///< Of a kept file that was scanned to its end; else null.
  };
  /// The mapping of file `number`, which has been opened as `file`; a kept one only while the file is still the same.
  [[nodiscard]] Mapped map(std::uint32_t number, const io::File& file) EXCLUDES(mutex_);
  /// Keeps what a scan of a whole kept file has found, if there is room.
  void keep(std::uint32_t number, const MappedFile& file, Frames frames) EXCLUDES(mutex_);
  /// The content of file `number`, which has been opened as `file`; null when it is not kept, or of another file.
  [[nodiscard]] std::shared_ptr<const Content> content(std::uint32_t number, const io::File& file) EXCLUDES(mutex_);
  /// Place for so many bytes of content, until the last owner lets go; null when there is none.
  [[nodiscard]] std::shared_ptr<void> claim(std::int64_t bytes) EXCLUDES(mutex_);
  /// Keeps all that a scan has found in a compressed file. `identity`: the file's, before the scan began.
  void keep(std::uint32_t number, const io::File::Identity& identity, Content content) EXCLUDES(mutex_);
  void drop_contents() EXCLUDES(mutex_);  ///< For good: memory is needed for something else.
  [[nodiscard]] bool keeps_content() const EXCLUDES(mutex_);
  /// Mapped, and of frames.
  [[nodiscard]] std::int64_t bytes() const EXCLUDES(mutex_);
  /// What frames of a kept file may take.
  [[nodiscard]] std::int64_t room() const EXCLUDES(mutex_) { return passes_ ? limit_ - bytes() : 0; }

 private:
  struct Kept {
    std::shared_ptr<MappedFile> file;
    std::shared_ptr<const Frames> frames;
    std::shared_ptr<const Content> content;
    io::File::Identity identity;  // of the content's file
  };
  Kept& at(std::uint32_t number) REQUIRES(mutex_);
  void forget(Kept& kept) REQUIRES(mutex_);

  const std::int64_t limit_;
  const bool passes_;
  mutable Mutex mutex_;
  std::vector<Kept> files_ GUARDED_BY(mutex_);  // by number
  std::int64_t bytes_ GUARDED_BY(mutex_) = 0;
  bool contents_ GUARDED_BY(mutex_) = true;  // may be kept
  const std::shared_ptr<std::atomic<std::int64_t>> content_bytes_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace forebay::engine
