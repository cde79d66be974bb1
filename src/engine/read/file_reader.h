// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <forebay/plugin.h>

#include "engine/memory/buffer_pool.h"
#include "engine/read/block.h"
#include "engine/read/block_reader.h"
#include "engine/read/corruption.h"
#include "engine/read/file_versions.h"
#include "engine/read/pass_cache.h"
#include "engine/read/record_index.h"
#include "engine/requests/requested_file.h"
#include "io/file.h"
#include "io/inflate.h"

namespace forebay::engine {

/// Reads one file from its beginning to its end, block by block.
///
/// The first call of `find`, `skip_to` or `must_settle` opens the file. Then the reader uses one of four ways:
///
///     plain file        ─► mapping_ (PassCache::map)  ─► scan_mapped   ─► blocks that point into the mapping
///     cannot be mapped  ─► file_                      ─► scan_streamed ─► blocks that own a buffer
///     compressed file   ─► inflater_                  ─► scan_streamed ─► blocks that own a buffer
///     cached content    ─► content_ (an earlier pass) ─► take_kept     ─► blocks that share the content
///
/// A file of a FileSystem cannot be mapped. Its ranges are asked for ahead (RequestedFile); a `find` uses those that
/// have come, and fills nothing when there are none: then `ready` is false. `skip_to` alone waits.
///
/// A ReaderState of the run owns it, or a scan outside a run. One thread at a time calls it, a worker that scans ahead
/// or the consumer; `check` is for any thread at any time. The source and the PassCache must outlive it.
class FileReader final : public BlockReader {
 public:
  /// `file` is the number of the file in the source. `check` is what `scan` looks into the records with.
  FileReader(const Source& source, std::uint32_t file, std::shared_ptr<BufferPool> pool, PassCache& kept,
             Corruption corruption = Corruption::fail, RecordCheck check = {});

  /// `find`, then `check` with the check of the constructor.
  void scan(Block& block) {
    find(block);
    check(block, check_);
  }
  /// Fills a cleared block with the next records. Called until a block has `last` or an error.
  ///
  /// A block may have no records although the file continues: one call reads or searches a limited number of bytes, so
  /// that the caller can stop between two calls. This happens in long records and in long padding.
  ///
  /// An error is stored in the block; the block's records come before it. Without memory, the block has no records and
  /// the error is `no_memory_for_scan`. If the file has changed, the error says so instead of naming the fault.
  ///
  /// With Corruption::find, corrupt bytes are skips and not errors. An error is then a file that cannot be opened or
  /// read, a file that changes during the scan, or a lack of memory. The records and the skipped ranges together cover
  /// the whole file, or all of a compressed file that can be decompressed. Corrupt compressed data may decompress to
  /// the bytes of an earlier record; that record then counts as intact twice.
  void find(Block& block) override;
  /// Without Corruption::find the records are verified first; with it, `find` has done that.
  void check(Block& block, const RecordCheck& check) const override;

  /// Starts at a record of the file's index instead of the first record. Called before the first `find`. Opens the
  /// file; a compressed one is decompressed from the restart point before the record. Fails when the file cannot be
  /// read or ends before the record, and with Code::cancelled when the pool is closed meanwhile.
  [[nodiscard]] Result<void> skip_to(const RecordIndex& index, std::int64_t record);
  [[nodiscard]] Result<void> seek(std::int64_t record, const std::shared_ptr<const RecordIndex>& index) override;
  /// Called before the first `find`. The scans of a compressed file then collect a restart point about every `interval`
  /// bytes of content.
  void collect_restart_points(std::int64_t interval) { point_interval_ = interval; }
  [[nodiscard]] std::vector<io::RestartPoint> take_restart_points() {  ///< The points found since the last call.
    return inflater_ ? inflater_->take_points() : std::vector<io::RestartPoint>{};
  }
  /// Offset of the next block in the (uncompressed) file.
  [[nodiscard]] std::int64_t offset() const { return offset_; }

  /// Called before the first `find`: the file shares the requests of the run. Without it, it has its own.
  void share(std::shared_ptr<Requests> requests) { requests_ = std::move(requests); }
  [[nodiscard]] bool ready() const override;
  void need() override;
  /// Waits until `ready`, but not longer than some milliseconds. Throws Closed when the pool is closed.
  void wait_a_little() const;
  /// Called before the first `find`. Opening then fails with Code::data unless the file is the version that `versions`
  /// remembers. `versions` must outlive the reader.
  void remember(FileVersions& versions) { versions_ = &versions; }
  /// Returns whether the first `find` waits because the file was written a moment ago (io::File::settles_in). The wait
  /// is at most one tick of the system's clock. Opens the file. False for a file that cannot be opened: `scan` fails.
  [[nodiscard]] bool must_settle() override;

  /// Returns whether the next `find` works on a record of more than `large_bytes`, as far as is known now.
  [[nodiscard]] bool next_is_large() const override {
    return std::max(searched_next_, filling_.capacity) > static_cast<std::size_t>(large_bytes);
  }
  [[nodiscard]] BlockMemory memory() const override {
    return {.own = opened_ && !mapping_ && !content_, .kept = found_.has_value()};
  }
  /// Fails with Code::data when the file is not the version that was opened. Called after a block without an error.
  [[nodiscard]] Result<void> unchanged() const { return file_->unchanged(); }
  /// The compression of the file. Set by the first `find`.
  [[nodiscard]] Compression compression() const { return compression_; }

 private:
  [[nodiscard]] std::int64_t read_so_far() const;  // bytes of the file, compressed if it is
  [[nodiscard]] double fraction() const;           // share of the file's bytes that was read, 0 … 1
  Result<void> open();                             // of a FileSystem: `opened_` may stay false
  [[nodiscard]] Result<void> settle();
  [[nodiscard]] Result<bool> open_requested(FileSystem& system);
  [[nodiscard]] Result<void> open_and_wait();
  [[nodiscard]] std::int64_t next_read() const { return inflater_ ? inflater_->read_up_to() : position_; }
  Result<void> open_compressed();
  Result<void> verify_compressed();
  Result<void> go_on_from(const RecordIndex& index, std::int64_t record);
  [[nodiscard]] io::Inflater::Trailing trailing() const;
  [[nodiscard]] Error explained(const Error& error, std::int64_t record, std::int64_t offset) const;
  [[nodiscard]] Result<void> check_records(Block& block, const RecordCheck& check) const;
  [[nodiscard]] std::optional<Malformed> first_malformed(Block& block, const RecordCheck& check) const;
  void find_streamed(Block& block, std::span<const std::byte> bytes, std::optional<Error>& broken, Scanned& found);
  Result<void> scan_mapped(Block& block);
  [[nodiscard]] std::span<const std::byte> private_window(std::span<const std::byte> bytes);
  Result<void> find_mapped(Block& block, std::span<const std::byte> bytes, Scanned& found);
  [[nodiscard]] Result<Scanned> find_records(std::span<const std::byte> bytes, bool last, std::size_t limit,
                                             std::vector<Extent>& records);
  [[nodiscard]] Result<Scanned> compared(std::span<const std::byte> bytes, Scanned scanned,
                                         std::vector<Extent>& records);
  void collect_frames(const Block& block, std::size_t consumed);
  void collect_content(const Block& block);
  void take_kept(Block& block);
  [[nodiscard]] std::size_t usual_block() const;
  Result<void> scan_streamed(Block& block);
  std::size_t fill(std::span<std::byte> out, std::optional<Error>& fault);
  /// Stores the bytes of a record that continues in the next block. They and the inflater count against the budget.
  void carry_over(std::span<const std::byte> rest) {
    carry_.assign(rest.begin(), rest.end());
    charge_.set(*pool_, static_cast<std::int64_t>(carry_.capacity()) + (inflater_ ? inflater_->bytes() : 0),
                MemoryUse::scan);
  }

  const Source& source_;
  const std::uint32_t number_;
  std::shared_ptr<BufferPool> pool_;
  bool opened_ = false;
  /// Where the first `find` goes when it has opened the file; without an index, to its beginning.
  struct Start {
    std::shared_ptr<const RecordIndex> index = {};
    std::int64_t record = 0;
  };
  Start start_;
  const io::RandomAccessFile* file_ = nullptr;  // one of the next two; null before the opening
  std::optional<io::File> local_;
  std::optional<RequestedFile> requested_;
  std::shared_ptr<Requests> requests_;
  std::shared_ptr<Request> version_;  // of a FileSystem: asked for at the opening
  bool needed_ = false;               // the order reads this file now
  FileVersions* versions_ = nullptr;
  PassCache& pass_cache_;
  std::shared_ptr<MappedFile> mapping_;     // null: not a mapped file
  bool kept_ = false;                       // pass_cache_ owns the mapping, too
  bool fresh_ = true;                       // no earlier pass has read the pages
  std::shared_ptr<const Frames> frames_;    // frames that an earlier pass found, or null
  std::size_t frame_blocks_ = 0;            // blocks of frames_ that were delivered
  std::size_t frame_extents_ = 0;           // extents of frames_ that were delivered
  std::optional<Frames> collected_;         // frames found in this pass, for later ones
  std::shared_ptr<const Content> content_;  // content that an earlier pass decompressed, or null
  std::size_t content_blocks_ = 0;          // blocks of content_ that were delivered
  std::optional<Content> found_;            // content decompressed in this pass, for later ones
  Compression compression_ = Compression::automatic;
  std::optional<io::Inflater> inflater_;
  struct Unverified {
    std::int64_t begin;  // of the content whose checksums are wrong or missing
    Error fault;
  };
  std::optional<Unverified> unverified_;  // found before the first record was read (verify_compressed)
  struct Filling {
    std::shared_ptr<std::byte> bytes = {};  // null: no block is begun
    std::size_t size = 0;
    std::size_t capacity = 0;
  };
  Filling filling_;               // the streamed block that is being read
  std::vector<std::byte> carry_;  // the first bytes of a record that continues in the next block
  Charge charge_;                 // the memory of carry_ and inflater_
  std::int64_t offset_ = 0;       // of the next block in the uncompressed file; carry_ begins there
  std::int64_t advised_ = 0;      // end of the range of the mapping that is read ahead
  std::int64_t position_ = 0;     // of the next read, in a plain file that is streamed
  std::int64_t record_ = 0;       // ordinal of the next record
  std::int64_t bytes_read_ = 0;   // read_so_far() at the end of the last block
  bool stream_ended_ = false;
  std::optional<Error> unless_padding_;     // set: padding has begun; anything else after it fails with this error
  std::optional<CorruptionFinder> finder_;  // set: Corruption::find
  std::shared_ptr<void> compared_;          // memory of Format::compare
  const RecordCheck check_;                 // of `scan`
  std::size_t searched_next_ = 0;           // bytes of the mapping that finder_ needs in its next window
  struct Window {
    std::shared_ptr<std::byte> bytes = {};
    std::size_t capacity = 0;
  };
  Window window_;                    // private copy of a part of the mapping, which finder_ searches. A block takes it
  std::int64_t point_interval_ = 0;  // bytes of content between restart points; 0: none are collected
};

}  // namespace forebay::engine
