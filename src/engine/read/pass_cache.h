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

/// The extents of all records of a mapped file, by block. A scan of the whole file makes it; then it is immutable.
struct Frames {
  struct Block {
    std::size_t records = 0;   ///< Records of the block: as many entries of `extents`.
    std::size_t consumed = 0;  ///< Bytes of the block.
  };
  std::vector<Block> blocks;
  std::vector<Extent> extents;  ///< Of all blocks in their order. Offsets count from the beginning of the block.

  /// Bytes of memory that the lists own.
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(extents.capacity() * sizeof(Extent) + blocks.capacity() * sizeof(Block));
  }
};

/// The decompressed content of a file and the extents of its records, by block. A scan of the whole file makes it; then
/// it is immutable.
struct Content {
  struct Block {
    std::shared_ptr<const std::byte> bytes;  ///< Null for a block without records.
    std::vector<Extent> records;
    std::int64_t end = 0;         ///< Offset of the next block in the uncompressed file.
    std::int64_t read = 0;        ///< Compressed bytes of the file that were read up to `end`.
    std::shared_ptr<void> claim;  ///< The share of the cache's limit that the block takes (PassCache::claim).
  };
  std::vector<Block> blocks;
};

/// Caches files from one pass of a run to the next, within a limit of bytes.
///
///     plain file       mapping   mapping a page again costs as much as decoding the records in it; a limited number
///                      frames    the lengths are not checked again; every pass verifies the payloads
///     compressed file  content   decompressed blocks, at most half of the limit, until memory runs short
///
/// The limit counts mappings and frames together, and contents separately. The memory of a content also counts in the
/// BufferPool that lent it. An entry of a file that has changed is dropped when the file is opened again.
///
/// OpenFiles owns it, or a scan outside a run. Thread-safe. A full cache is not an error: nothing is added then.
class PassCache {
 public:
  /// `limit`: bytes. `passes`: files are read more than once, so that frames and contents are worth caching.
  explicit PassCache(std::int64_t limit, bool passes = false) : limit_{limit}, passes_{passes} {}

  struct Mapped {
    std::shared_ptr<MappedFile> file;      ///< Null when the file cannot be mapped.
    std::optional<Error> error;            ///< Set when `file` is null: the reason.
    bool kept = false;                     ///< The mapping is in the cache, and its pages are counted there.
    bool fresh = true;                     ///< The mapping is new; no earlier pass has read its pages.
    std::shared_ptr<const Frames> frames;  ///< The frames of a cached mapping, or null.
  };
  /// Returns the mapping of file `number`, which the caller has opened as `file`. A cached mapping is used only for the
  /// same version of the file. A new one enters the cache if it fits.
  [[nodiscard]] Mapped map(std::uint32_t number, const io::File& file) EXCLUDES(mutex_);
  /// Adds the frames of a whole file, if its mapping is in the cache and the frames fit.
  void keep(std::uint32_t number, const MappedFile& file, Frames frames) EXCLUDES(mutex_);
  /// Returns the content of file `number`, which the caller has opened as `file`. Null when the content is not in the
  /// cache or belongs to another version of the file.
  [[nodiscard]] std::shared_ptr<const Content> content(std::uint32_t number, const io::RandomAccessFile& file)
      EXCLUDES(mutex_);
  /// Counts `bytes` of content until the last owner drops the result. Null: they do not fit, or nothing is cached.
  [[nodiscard]] std::shared_ptr<void> claim(std::int64_t bytes) EXCLUDES(mutex_);
  /// Adds the content of a whole file, each block with its claim. `identity`: that of the file when the scan opened it.
  void keep(std::uint32_t number, const io::File::Identity& identity, Content content) EXCLUDES(mutex_);
  void drop_contents() EXCLUDES(mutex_);  ///< Frees all contents and adds none from now on: memory is short.
  /// Returns whether any content is counted now, in the cache or in a scan that collects it.
  [[nodiscard]] bool keeps_content() const EXCLUDES(mutex_);
  /// Bytes of cached mappings and frames; contents are not included.
  [[nodiscard]] std::int64_t bytes() const EXCLUDES(mutex_);
  /// Bytes of the limit that are left for frames; 0 when files are read only once.
  [[nodiscard]] std::int64_t room() const EXCLUDES(mutex_) { return passes_ ? limit_ - bytes() : 0; }

 private:
  struct Kept {
    std::shared_ptr<MappedFile> file;
    std::shared_ptr<const Frames> frames;
    std::shared_ptr<const Content> content;
    io::File::Identity identity;  // of the version that `content` was read from
  };
  Kept& at(std::uint32_t number) REQUIRES(mutex_);
  void forget(Kept& kept) REQUIRES(mutex_);

  const std::int64_t limit_;
  const bool passes_;
  mutable Mutex mutex_;
  std::vector<Kept> files_ GUARDED_BY(mutex_);  // by number of the file
  std::int64_t bytes_ GUARDED_BY(mutex_) = 0;   // of mappings and frames
  std::int64_t mappings_ GUARDED_BY(mutex_) = 0;
  bool contents_ GUARDED_BY(mutex_) = true;  // false after drop_contents
  // Shared with the claims, which may outlive the cache.
  const std::shared_ptr<std::atomic<std::int64_t>> content_bytes_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace forebay::engine
