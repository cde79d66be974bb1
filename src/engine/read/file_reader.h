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
#include "engine/read/corruption.h"
#include "engine/read/file_versions.h"
#include "engine/read/pass_cache.h"
#include "engine/read/record_index.h"
#include "io/file.h"
#include "io/inflate.h"

namespace forebay::engine {

/// Goes through one file from its beginning, block by block. One thread at a time. Nothing is opened before the first
/// block is asked for.
class FileReader {
 public:
  /// `check` is for Corruption::find only.
  FileReader(const Source& source, std::uint32_t file, std::shared_ptr<BufferPool> pool, PassCache& kept,
             Corruption corruption = Corruption::fail, RecordCheck check = {});

  /// Fills an empty block, or leaves it empty, although the file goes on, when a record or the padding behind the last
  /// one is so long that it should be asked whether to go on. Errors are in the block, behind its records; the block
  /// with `last` or an error is the last. With Corruption::find, corrupt bytes are no error but stand in the block's
  /// skips; errors are then what the machine or somebody else does: a file that cannot be opened or read, or that
  /// changes meanwhile. Intact records, skipped ones and ranges are together the whole file, or all of a compressed one
  /// that can be inflated. What a corrupt compression makes of a record before is intact, too: there a record may come
  /// twice.
  void scan(Block& block);

  /// Instead of from its beginning, goes on from a record of the file's index. Before the first block. Fails with the
  /// place when the file is not what the index says.
  [[nodiscard]] Result<void> skip_to(const RecordIndex& index, std::int64_t record);
  /// Before the first block: restart points of a compressed file are collected on the way.
  void collect_restart_points(std::int64_t interval) { point_interval_ = interval; }
  [[nodiscard]] std::vector<io::RestartPoint> take_restart_points() {  ///< Those found since the last call.
    return inflater_ ? inflater_->take_points() : std::vector<io::RestartPoint>{};
  }
  [[nodiscard]] std::int64_t offset() const { return offset_; }  ///< Of what comes next, in the uncompressed file.

  /// Before the first block: the file must be the version that `versions`, which must stay, has of it.
  void remember(FileVersions& versions) { versions_ = &versions; }
  /// Whether the first block has to wait, at most one tick of the file system's clock, because the file has just been
  /// written (io::File::settles_in). Opens the file; what is wrong with it is told by `scan`.
  [[nodiscard]] bool must_settle();

  /// Whether the next block is of a record that takes long.
  [[nodiscard]] bool next_is_large() const {
    return std::max(searched_next_, filling_.capacity) > static_cast<std::size_t>(large_bytes);
  }
  [[nodiscard]] bool streamed() const { return opened_ && !mapping_ && !content_; }  ///< Its blocks own memory.
  [[nodiscard]] bool keeping() const { return found_.has_value(); }  ///< Its content so far, for later passes.
  /// Whether the file is still the one that was opened; Code::data if not. Only after a block without an error.
  [[nodiscard]] Result<void> unchanged() const { return file_->unchanged(); }
  /// How the file is compressed, once a block was scanned.
  [[nodiscard]] Compression compression() const { return compression_; }

 private:
  [[nodiscard]] std::int64_t read_so_far() const;  // bytes of the file
  [[nodiscard]] double fraction() const;           // of the file's bytes that have been read, 0 … 1
  Result<void> open();
  [[nodiscard]] Result<void> settle();
  Result<void> open_compressed();
  Result<void> go_on_from(const RecordIndex& index, std::int64_t record);
  [[nodiscard]] io::Inflater::Trailing trailing() const;
  void find_streamed(Block& block, std::span<const std::byte> bytes, std::optional<Error>& broken, Scanned& found);
  Result<void> scan_mapped(Block& block);
  [[nodiscard]] std::span<const std::byte> private_window(std::span<const std::byte> bytes);
  Result<void> find_mapped(Block& block, std::span<const std::byte> bytes, Scanned& found);
  [[nodiscard]] Result<Scanned> find_records(std::span<const std::byte> bytes, bool last, std::size_t limit,
                                             std::vector<Extent>& records);
  void collect_frames(const Block& block, std::size_t consumed);
  void collect_content(const Block& block);
  void take_kept(Block& block);
  [[nodiscard]] std::size_t usual_block() const;
  Result<void> scan_streamed(Block& block);
  std::size_t fill(std::span<std::byte> out, std::optional<Error>& fault);
  /// Keeps it for the next block. What is held between blocks counts against the budget.
  void carry_over(std::span<const std::byte> rest) {
    carry_.assign(rest.begin(), rest.end());
    charge_.set(*pool_, static_cast<std::int64_t>(carry_.capacity()) + (inflater_ ? inflater_->bytes() : 0));
  }

  const Source& source_;
  const std::uint32_t number_;
  std::shared_ptr<BufferPool> pool_;
  bool opened_ = false;
  std::optional<io::File> file_;
  FileVersions* versions_ = nullptr;
  PassCache& pass_cache_;
  std::shared_ptr<MappedFile> mapping_;
  bool kept_ = false;
  bool fresh_ = true;
  std::shared_ptr<const Frames> frames_;    // of an earlier pass …
  std::size_t frame_blocks_ = 0;            // … so many blocks of which have been taken …
  std::size_t frame_extents_ = 0;           // … and extents
  std::optional<Frames> collected_;         // for later passes
  std::shared_ptr<const Content> content_;  // of an earlier pass …
  std::size_t content_blocks_ = 0;          // … so many blocks of which have been taken
  std::optional<Content> found_;            // for later passes
  Compression compression_ = Compression::automatic;
  std::optional<io::Inflater> inflater_;
  struct Filling {
    std::shared_ptr<std::byte> bytes = {};  // null: none has been begun
    std::size_t size = 0;
    std::size_t capacity = 0;
  };
  Filling filling_;               // the block that is being read
  std::vector<std::byte> carry_;  // the beginning of a record that the last block broke off
  Charge charge_;                 // of the carry and the inflater
  std::int64_t offset_ = 0;       // in the uncompressed file, of what comes next (the carry included)
  std::int64_t advised_ = 0;
  std::int64_t position_ = 0;  // in the file, of a plain stream
  std::int64_t record_ = 0;
  std::int64_t bytes_read_ = 0;
  bool stream_ended_ = false;
  std::optional<Error> unless_padding_;  // set: padding has begun, and this is the fault if anything else follows
  std::optional<CorruptionFinder> finder_;
  std::size_t searched_next_ = 0;  // bytes that it has asked for
  struct Window {
    std::shared_ptr<std::byte> bytes = {};
    std::size_t capacity = 0;
  };
  Window window_;  // private copy of the part of a mapped file in which corruption is looked for
  std::int64_t point_interval_ = 0;
};

}  // namespace forebay::engine
