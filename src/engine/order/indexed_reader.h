// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forebay/order.h>

#include "engine/index/index_parallel.h"
#include "engine/order/block_table.h"
#include "engine/program/program.h"
#include "engine/read/file_versions.h"
#include "engine/read/pass_cache.h"
#include "engine/read/record_index.h"

namespace forebay::engine {

/// Reaches any record of a file through the file's index. Handles that come from here name bytes of a mapped file,
/// which are there, or records of a compressed file, which `fetch` inflates. The order plane's own.
class IndexedReader {
 public:
  /// So many files are indexed at once as there are threads.
  IndexedReader(const Program& program, std::shared_ptr<BufferPool> pool, std::int64_t threads, PassCache& kept,
                FileVersions& versions, BlockTable& table)
      : program_{program},
        pool_{std::move(pool)},
        threads_{threads},
        trailer_{program.source.format->trailer()},
        room_after_{room_after(*program.source.format)},
        pass_cache_{kept},
        versions_{versions},
        table_{table} {}

  /// The stored index of a file, or null when there is no good one. Its identity was compared with the file's.
  [[nodiscard]] std::shared_ptr<const RecordIndex> stored(std::uint32_t file);
  /// Makes sure that all these have an index: stored ones are read, others made, several at once, and stored if
  /// possible. `go_on` is asked now and then; false ends it with Code::cancelled, and a later call goes on. When
  /// records may be skipped, every file is gone through, what is skipped stands in `skips`, and its index names only
  /// good records. Fails with Code::data, resource_exhausted, when all indexes together take more than half of the
  /// memory budget.
  [[nodiscard]] Result<void> index(std::span<const std::uint32_t> files, const std::function<bool()>& go_on);
  [[nodiscard]] std::int64_t records(std::uint32_t file) const { return files_[file].index->records(); }
  /// What was skipped when the file was indexed.
  [[nodiscard]] const std::vector<Skip>& skips(std::uint32_t file) const { return files_[file].skips; }

  /// How many records these have, good ones when others may be skipped. Like `index`, but no index stays in memory.
  [[nodiscard]] Result<std::vector<std::int64_t>> count(std::span<const std::uint32_t> files,
                                                        const std::function<bool()>& go_on);

  /// Handles of records of files that have an index; nothing is read.
  [[nodiscard]] Result<void> locate(std::span<const RecordName> names, std::span<Handle> out);
  /// Brings the bytes of records of compressed files: the handles then name the copies. Fails with Code::data,
  /// resource_exhausted when they are more than the memory budget, and with Code::cancelled as soon as `go_on` is
  /// false: what is there then stays, and the call may be repeated with the same handles.
  [[nodiscard]] Result<void> fetch(std::span<Handle> handles, const std::function<bool()>& go_on);
  [[nodiscard]] std::int64_t window() const;                     ///< Records that are worth fetching together.
  [[nodiscard]] bool compressed() const { return compressed_; }  ///< Whether `fetch` has to bring anything.
  /// Fails with Code::data when a plain file that was located in was written to since. One that was deleted or replaced
  /// under its name was not.
  [[nodiscard]] Result<void> unchanged() const;
  /// Bytes of files that `fetch` has read since the last call.
  [[nodiscard]] std::int64_t take_bytes_read() { return std::exchange(bytes_read_, 0); }

 private:
  struct File {
    std::shared_ptr<const RecordIndex> index;
    std::shared_ptr<void> charge;  // of the index, to the budget
    std::vector<Skip> skips;
    std::optional<std::int64_t> records;  // counted
    bool looked = false;                  // for a stored index
    std::vector<std::uint32_t> slots;     // by segment of the uncompressed file
    std::shared_ptr<MappedFile> mapping;  // of a plain file that was located in
  };
  /// What a handle is made of; of files that were opened.
  struct Opened {
    const RecordIndex* index = nullptr;
    const std::uint32_t* slots = nullptr;
  };
  // Handles have 32 bits for a place, so a file is divided into segments.
  static constexpr int segment_bits = 31;
  File& at(std::uint32_t file);
  [[nodiscard]] std::vector<std::uint32_t> lacking(std::span<const std::uint32_t> files,
                                                   const std::function<bool(const File&)>& lacks);
  using Take = std::function<Result<void>(std::span<const std::uint32_t> files, std::span<MadeIndex> made)>;
  [[nodiscard]] Result<void> make(std::span<const std::uint32_t> missing, const std::function<bool()>& go_on,
                                  const Take& take);
  [[nodiscard]] bool keep(File& file, std::shared_ptr<const RecordIndex> index, std::shared_ptr<void> charge = nullptr);
  [[nodiscard]] Error too_large(std::int64_t not_kept, double share_made) const;
  [[nodiscard]] Result<void> check_content(std::uint32_t number, const RecordIndex& index) const;
  [[nodiscard]] Result<void> open(std::uint32_t number);
  [[nodiscard]] Handle handle_of(const RecordName& name) const {
    const Opened& file = opened_[name.file];
    const std::int64_t offset = file.index->offset(name.record);
    return {.block = file.slots[offset >> segment_bits],
            .ordinal = static_cast<std::uint32_t>(name.record),
            .offset = static_cast<std::uint32_t>(offset & ((std::int64_t{1} << segment_bits) - 1)),
            .length = file.index->length(name.record)};
  }
  [[nodiscard]] Result<void> check_room(std::span<Handle* const> handles) const;
  [[nodiscard]] Result<void> fetch_file(std::span<Handle* const> handles, const std::function<bool()>& go_on);

  const Program& program_;
  std::shared_ptr<BufferPool> pool_;
  const std::int64_t threads_;
  const std::size_t trailer_;     // bytes after a record that its format verifies
  const std::size_t room_after_;  // bytes after each copy of a record
  PassCache& pass_cache_;
  FileVersions& versions_;
  BlockTable& table_;
  std::vector<File> files_;
  std::vector<Opened> opened_;  // by file
  bool compressed_ = false;
  std::int64_t index_bytes_ = 0;  // of all indexes that are held
  std::int64_t bytes_read_ = 0;
};

}  // namespace forebay::engine
