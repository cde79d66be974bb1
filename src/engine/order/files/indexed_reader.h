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

#include "engine/blocks/block_table.h"
#include "engine/index/index_parallel.h"
#include "engine/order/files/own_windows.h"
#include "engine/program/program.h"
#include "engine/read/file_versions.h"
#include "engine/read/pass_cache.h"
#include "engine/read/record_index.h"
#include "engine/requests/range_sets.h"

namespace forebay::engine {

/// Random access to the records of files, by the index of each file.
///
///     index(files) ─► locate(names) ─► handles ──┬─► plain file: bytes of a mapping, nothing to fetch
///                                                ├─► compressed file ─► fetch: handles of decompressed copies
///                                                └─► file of a FileSystem ─► expect: ranges are asked for
///                                                                        ─► fetch: handles of copies
///
/// A member of OpenFiles. The order plane calls it, so one thread at a time; `index` and `count` use more threads.
class IndexedReader {
 public:
  /// Where the handles of a `fetch` come from: from a window of an order, or from a batch that this process makes. If
  /// the process takes only some of the rows, large records of other machines come with the batch.
  enum class Of : std::uint8_t { window, batch };
  /// `program`, the cache, the versions and the table must outlive this object. `threads`: the number of threads that
  /// build indexes. `some_rows`: the process takes only some of the records that are named.
  IndexedReader(const Program& program, std::shared_ptr<BufferPool> pool, PassCache& kept, FileVersions& versions,
                BlockTable& table, const RunMeans& means, std::shared_ptr<Requests> requests)
      : program_{program},
        pool_{std::move(pool)},
        threads_{means.threads},
        some_rows_{means.processes > 1},
        trailer_{trailer_of(program.source)},
        room_after_{room_after(program.source)},
        pass_cache_{kept},
        versions_{versions},
        table_{table},
        stores_{std::make_shared<IndexStores>(means.index_dir)},
        ranges_{std::move(requests)} {}

  /// The stored index of a file, with the attributes of the program. Null when a part of it is not stored, when it is
  /// not of this version of the file, or when memory has no room for it; of a file of another machine also when its
  /// version is not known without asking, or when it is compressed.
  [[nodiscard]] std::shared_ptr<const RecordIndex> stored(std::uint32_t file);
  /// What `stored` has found, and the attributes with it; empty for null.
  [[nodiscard]] std::optional<StoredValues> stored_values(std::uint32_t file);
  /// The request for the index that `stored` returns. Never waits: it is empty while the version of a file of another
  /// machine is not known.
  [[nodiscard]] std::optional<IndexRequest> request_at_hand(std::uint32_t file) const;
  /// Asks for the versions of all files of other machines, and for the indexes that are published with them, so that
  /// `stored` finds these. Waits; fails with Code::cancelled when `go_on` returns false.
  [[nodiscard]] Result<void> find_published(const std::function<bool()>& go_on);
  /// Why a process that takes only some of the rows brings all records of a file of another machine with an index.
  /// Empty: those of its own rows come with their batches; so it is for local files.
  [[nodiscard]] std::string why_whole(std::uint32_t file) const;
  /// Loads or builds the index of each of these files, and stores those that were built if possible.
  ///
  /// `go_on` is polled; when it returns false, the call fails with Code::cancelled, and a later call continues. When
  /// the program may skip records, each file is scanned, its skips are listed in `skips`, and its index names only good
  /// records. Fails with Code::data, resource_exhausted, when all indexes take more than half of the memory budget.
  [[nodiscard]] Result<void> index(std::span<const std::uint32_t> files, const std::function<bool()>& go_on);
  /// Whether `index`, or with `count` that, has to look into a file of a FileSystem, which takes long.
  [[nodiscard]] bool goes_to_stores(std::span<const std::uint32_t> files, bool count);
  /// Number of records of a file for which `index` succeeded: those that the selecting filters keep (EarlyWork).
  [[nodiscard]] std::int64_t records(std::uint32_t file) const {
    const File& of = files_[file];
    return program_.early.selecting > 0 ? std::ssize(of.selected) : of.index->records();
  }
  /// An attribute of a record of such a file, or of a `stored` one, by the ordinal of the record's handle.
  [[nodiscard]] std::int64_t attribute(std::uint32_t file, std::uint32_t ordinal, std::size_t attribute) const {
    const File& of = files_[file];
    return of.attributes[attribute].at(of.numbers.left_out.empty() ? ordinal : number_in_index(of, ordinal));
  }
  /// An attribute of a record of such a file, by its name.
  [[nodiscard]] std::int64_t attribute(const RecordName& name, std::size_t attribute) const {
    const File& of = files_[name.file];
    const std::int64_t record =
        program_.early.selecting > 0 ? of.selected[static_cast<std::size_t>(name.record)] : name.record;
    return of.attributes[attribute].at(record);
  }
  /// The skips found when the file was indexed, also of a `stored` one.
  [[nodiscard]] const std::vector<Skip>& skips(std::uint32_t file) const { return files_[file].skips; }
  /// The number of records of the index of a `stored` file that come before this one of its skips; all of them when
  /// it has no such skip. The ordinals of its handles count the records that are skipped, too: add those before.
  [[nodiscard]] std::int64_t records_before(std::uint32_t file, std::size_t skip) const {
    const File& of = files_[file];
    return skip < of.numbers.before.size() ? of.numbers.before[skip] : of.index->records();
  }

  /// Numbers of records of these files; only good ones when the program may skip, and only those for which all
  /// attributes in EarlyWork::counted hold. Works and fails like `index`, but retains the numbers, not the indexes.
  [[nodiscard]] Result<std::vector<std::int64_t>> count(std::span<const std::uint32_t> files,
                                                        const std::function<bool()>& go_on);

  /// Fills `out` with the handles of records of files that have an index. A name counts the records that the selecting
  /// filters keep, a handle counts all of the index. Opens and maps plain files; reads no record.
  /// Fails with Code::data when a file changed, and with the error of the mapping when a plain file cannot be mapped.
  [[nodiscard]] Result<void> locate(std::span<const RecordName> names, std::span<Handle> out);
  /// Decompresses the records that are not in memory, and changes their handles to those of the copies.
  ///
  /// Fails with Code::data, resource_exhausted, when the copies take more than the memory budget, and with
  /// Code::cancelled when `go_on` returns false. Copies that were made stay; the call may be repeated with the same
  /// handles. False: bytes of files of a FileSystem were asked for and have not come; nothing was read.
  [[nodiscard]] Result<bool> fetch(std::span<Handle> handles, Of what, const std::function<bool()>& go_on);
  /// Asks for the bytes of records that a later `fetch` reads, of a batch each time that it is called, of a window
  /// once. False: the versions of their files are not known yet.
  [[nodiscard]] Result<bool> expect(std::span<const Handle> handles, Of what);
  /// Bytes that `expect` asks for.
  [[nodiscard]] std::int64_t requested_bytes(std::span<const Handle> handles) const;
  [[nodiscard]] std::int64_t windows_ahead() const { return requested_ ? 3 : 0; }  ///< Each is passed to `expect`.
  [[nodiscard]] std::int64_t window() const;               ///< Number of records to give to one `fetch`.
  [[nodiscard]] bool fetches() const { return fetches_; }  ///< False: `fetch` does nothing.
  [[nodiscard]] bool maps() const { return maps_; }        ///< `locate` has mapped a file.
  /// Fails with Code::data when a plain file was written to after `locate` mapped it. A file that was deleted or
  /// replaced under its name does not fail: the mapping still has the old version.
  [[nodiscard]] Result<void> unchanged() const;
  /// IndexStores::take_notice, for any thread.
  [[nodiscard]] std::string take_notice() const { return stores_->take_notice(); }
  void note(std::string line) const { stores_->add_notice(std::move(line)); }
  /// Returns the number of bytes of files that `fetch` has read since the last call.
  [[nodiscard]] std::int64_t take_bytes_read() { return std::exchange(bytes_read_, 0); }

 private:
  struct File {
    std::shared_ptr<const RecordIndex> index;
    std::vector<AttributeColumn> attributes;  // those of Program::early
    std::vector<std::uint32_t> selected;      // records that the selecting filters keep, if there are any
    std::shared_ptr<void> charge;             // charges the index, the attributes and `selected` to the budget
    std::vector<Skip> skips;
    SkipPlaces numbers;  // set by `stored`: a file that is read in its order numbers its skipped records, too
    std::optional<std::int64_t> records;  // set by `count`
    bool looked = false;                  // `stored` has looked for a stored index
    std::vector<std::uint32_t> slots;     // in the table, by segment of the uncompressed file
    std::shared_ptr<MappedFile> mapping;  // of a plain file, from the first `locate`
    std::shared_ptr<Request> version;     // of a FileSystem: the answer that `target` waits for
    std::shared_ptr<const RequestTarget> target;
    bool alone = false;  // of a FileSystem: records are brought with the batches that take them
  };
  /// The pointers that `handle_of` needs of an opened file; null before `open`.
  struct Opened {
    const RecordIndex* index = nullptr;
    const std::uint32_t* slots = nullptr;
    const std::uint32_t* selected = nullptr;  // null: every record

    [[nodiscard]] std::int64_t number(std::int64_t record) const {
      return selected == nullptr ? record : std::int64_t{selected[record]};
    }
  };
  // A handle has 32 bits for an offset, so the table has an entry for each segment of 2 GiB of the uncompressed file.
  static constexpr int segment_bits = 31;
  File& at(std::uint32_t file);
  [[nodiscard]] IndexRequest request(std::uint32_t file) const;
  [[nodiscard]] static std::int64_t number_in_index(const File& file, std::uint32_t ordinal);
  [[nodiscard]] std::vector<std::uint32_t> lacking(std::span<const std::uint32_t> files,
                                                   const std::function<bool(const File&)>& lacks);
  [[nodiscard]] Result<void> make(std::span<const std::uint32_t> missing, const std::function<bool()>& go_on,
                                  const TakeIndexes& take);
  [[nodiscard]] bool keep(File& file, MadeIndex& made);
  [[nodiscard]] Error too_large(std::int64_t not_kept, double share_made) const;
  [[nodiscard]] Result<void> check_content(std::uint32_t number, const RecordIndex& index) const;
  void select(File& file) const;
  [[nodiscard]] Result<void> open(std::uint32_t number);
  void note_slow(std::uint32_t number);
  [[nodiscard]] Handle handle_of(const RecordName& name) const {
    const Opened& file = opened_[name.file];
    const std::int64_t record = file.number(name.record);
    const std::int64_t offset = file.index->offset(record);
    return {.block = file.slots[offset >> segment_bits],
            .ordinal = static_cast<std::uint32_t>(record),
            .offset = static_cast<std::uint32_t>(offset & ((std::int64_t{1} << segment_bits) - 1)),
            .length = file.index->length(record)};
  }
  [[nodiscard]] bool scattered(const RecordIndex& index) const;
  [[nodiscard]] bool stays_in_cache() const;
  [[nodiscard]] Result<void> check_kept() const;
  /// Whether the file stays in memory once it was fetched. Its records are read in random order, and each window would
  /// fetch nearly all of it again: it is compressed, and has few places to begin, or its records are small.
  [[nodiscard]] bool stays(std::uint32_t file) const;
  [[nodiscard]] Result<bool> find_target(std::uint32_t number);
  [[nodiscard]] Result<bool> find_targets(std::span<const Handle> handles, Of what);
  [[nodiscard]] RangeSets::Key key_of(std::span<const Handle> handles) const;
  [[nodiscard]] std::unique_ptr<RecordTimes> record_times() const;
  void tell_cache(std::span<const Handle> handles) const;
  RangeSets::Set& ask(std::span<const Handle> handles, Of what);
  [[nodiscard]] Result<RangeSets::Set*> bring(std::span<const Handle> handles, Of what);
  [[nodiscard]] Result<void> read_plain(const io::RandomAccessFile& file, std::int64_t offset,
                                        std::span<std::byte> out);
  [[nodiscard]] Result<void> fetch_absent(std::vector<Handle*>& absent, const RangeSets::Set* set,
                                          const std::function<bool()>& go_on);
  void add_pieces(const Handle& handle, std::vector<RangeSets::Piece>& out) const;
  [[nodiscard]] bool absent(const Handle& handle, Of what) const;
  [[nodiscard]] bool requested(const Handle& handle, Of what) const;
  [[nodiscard]] Result<void> check_room(std::span<Handle* const> handles) const;
  [[nodiscard]] Result<void> fetch_file(std::span<Handle* const> handles, const RangeSets::Set* set,
                                        const std::function<bool()>& go_on);

  const Program& program_;
  std::shared_ptr<BufferPool> pool_;
  const std::int64_t threads_;
  const bool some_rows_;
  const std::size_t trailer_;     // bytes after a record that the format verifies
  const std::size_t room_after_;  // bytes after each copy of a record (block.h)
  PassCache& pass_cache_;
  FileVersions& versions_;
  BlockTable& table_;
  const std::shared_ptr<IndexStores> stores_;
  std::vector<File> files_;
  std::vector<Opened> opened_;    // by file
  bool fetches_ = false;          // a file with an index is compressed, or of a FileSystem
  bool requested_ = false;        // one is of a FileSystem
  bool maps_ = false;             // a file is mapped
  bool noted_slow_ = false;       // `note_slow` has told of one
  RangeSets ranges_;              // of such files
  std::int64_t index_bytes_ = 0;  // bytes of all indexes in memory
  std::int64_t kept_bytes_ = 0;   // of files that stay in memory (`stays`)
  std::int64_t bytes_read_ = 0;   // bytes of files since the last take_bytes_read
};

/// Whether stages may have rows left when a batch is full. After a restart these are read one by one.
[[nodiscard]] bool leaves_rows(const Program& program);

}  // namespace forebay::engine
