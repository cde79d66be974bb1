// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"
#include "engine/read/block_reader.h"
#include "engine/read/corruption.h"
#include "engine/read/file_versions.h"
#include "engine/requests/files_ahead.h"
#include "io/file.h"

namespace forebay::engine {

/// Reads whole files into blocks, one after the other. A local one: open, fstat, read, fstat, close; the second fstat
/// shows that the bytes are of one version of the file. Those of a FileSystem are asked for ahead, each by its version.
/// Not thread-safe; the source and the versions must outlive it.
class WholeFiles {
 public:
  static constexpr std::size_t usual_pile = std::size_t{1} << 20;  ///< Bytes of a block; more for one larger file.
  WholeFiles(const Source& source, BufferPool& pool, FileVersions& versions, std::shared_ptr<Requests> requests,
             std::size_t pile = usual_pile, std::shared_ptr<AskedFiles> asked = {})
      : source_{source}, pool_{pool}, versions_{versions}, pile_{pile}, ahead_{std::move(requests), std::move(asked)} {}

  /// Announces a file that is added next, or after those that were announced. False: as many were as may be; so are
  /// local files, which nobody asks for ahead.
  bool expect(std::uint32_t file);
  /// Appends a file of the source as one record. Returns false when the block has no room for it, or when its bytes
  /// have not come yet: it waits for the next block. Fails with the path in the error's place; the block is unchanged.
  [[nodiscard]] Result<bool> add(std::uint32_t file, Block& block);
  /// Bytes of the file that waits for the next block; 0 when none does.
  [[nodiscard]] std::int64_t waiting_bytes() const { return next_ ? next_->size() : 0; }
  /// Whether the next `add` gets on: see BlockReader.
  [[nodiscard]] bool ready() const { return ahead_.ready(); }
  void need() { ahead_.need(); }

 private:
  [[nodiscard]] Result<bool> add_local(std::uint32_t file, Block& block);
  [[nodiscard]] Result<bool> add_requested(Block& block);
  [[nodiscard]] Result<void> open(std::uint32_t file);
  [[nodiscard]] Result<void> check_size(std::int64_t size) const;
  [[nodiscard]] std::span<std::byte> room(std::size_t size, std::size_t pile, Block& block);
  [[nodiscard]] Result<void> append(Block& block);
  const Source& source_;
  BufferPool& pool_;
  FileVersions& versions_;
  const std::size_t pile_;
  io::LastFolder folder_;
  std::optional<io::File> next_;  // local, open and not read
  std::uint32_t waiting_ = 0;     // the number of next_
  FilesAhead ahead_;
};

/// Reads a part of `Source::files_a_part` files, each of which is a record. A block has the bytes of many files.
///
/// When the program may skip, a file that cannot be read or is malformed is a skipped record: its extent is empty, so
/// that the ordinals of the others stay their places in the part.
class WholeFileReader final : public BlockReader {
 public:
  WholeFileReader(const Program& program, std::uint32_t part, std::shared_ptr<BufferPool> pool, FileVersions& versions,
                  std::shared_ptr<Requests> requests);
  void find(Block& block) override;
  void check(Block& block, const RecordCheck& check) const override;
  [[nodiscard]] Result<void> seek(std::int64_t record, const std::shared_ptr<const RecordIndex>& index) override;
  [[nodiscard]] bool next_is_large() const override { return files_.waiting_bytes() > large_bytes; }
  [[nodiscard]] bool ready() const override { return files_.ready(); }
  void need() override { files_.need(); }

 private:
  [[nodiscard]] Result<void> add_files(Block& block);
  [[nodiscard]] Result<void> check_files(Block& block, const RecordCheck& check) const;
  [[nodiscard]] bool skips(const Error& error) const;

  const Program& program_;
  const std::uint32_t part_;
  const std::shared_ptr<BufferPool> pool_;
  WholeFiles files_;
  const std::uint32_t first_, end_;  // the files of the part
  std::uint32_t next_;               // the file that is read next
  std::uint32_t expected_;           // files before this one were announced
};

/// Reads whole files of a list into blocks of copies, whose `ordinals` are the numbers of the files. Nobody looks into
/// them.
class ListedFileReader final : public BlockReader {
 public:
  /// `files`: by number, ascending. `pile`: bytes of a block of several files. `asked`: as of FilesAhead.
  ListedFileReader(const Source& source, std::vector<std::uint32_t> files, std::shared_ptr<BufferPool> pool,
                   FileVersions& versions, std::shared_ptr<Requests> requests, std::size_t pile,
                   std::shared_ptr<AskedFiles> asked)
      : pool_{std::move(pool)},
        files_{source, *pool_, versions, std::move(requests), pile, std::move(asked)},
        list_{std::move(files)} {}
  void find(Block& block) override;
  void check(Block&, const RecordCheck&) const override {}
  [[nodiscard]] Result<void> seek(std::int64_t record, const std::shared_ptr<const RecordIndex>& index) override;
  [[nodiscard]] bool next_is_large() const override { return files_.waiting_bytes() > large_bytes; }
  [[nodiscard]] bool ready() const override { return files_.ready(); }
  void need() override { files_.need(); }

 private:
  [[nodiscard]] Result<void> add_files(Block& block);

  const std::shared_ptr<BufferPool> pool_;
  WholeFiles files_;
  const std::vector<std::uint32_t> list_;
  std::size_t next_ = 0;      // in the list
  std::size_t expected_ = 0;  // files before this one were announced
};

}  // namespace forebay::engine
