// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/error.h>

#include "engine/index/locked_store.h"
#include "engine/index/store_place.h"
#include "engine/memory/sync.h"
#include "engine/read/mapped_file.h"
#include "io/identity.h"

namespace forebay::engine {

/// What an entry of a store is.
enum class StoredKind : std::uint32_t {
  records = 1,    ///< The image of a RecordIndex.
  skips = 2,      ///< The skips that belong to an index of good records (made_index.h).
  attribute = 3,  ///< The image of an AttributeColumn.
  ends = 4,       ///< Hashes of both ends of a file whose identity is its version (published/published_index.h).
};

/// Names an entry of one data file. The last intact entry of a name is valid.
struct EntryKey {
  StoredKind kind = StoredKind::records;
  std::uint64_t made_by = 0;  ///< Hash of what made it; 0 for the index of all records.
  auto operator<=>(const EntryKey&) const = default;
};

/// An entry in the mapping of a store. The payload is not checked yet, and another process may change it.
struct FoundEntry {
  std::shared_ptr<const MappedFile> mapping;
  io::FileIdentity identity;  ///< Of the data file when the entry was made.
  std::span<const std::byte> payload;
  std::uint32_t crc = 0;  ///< CRC-32C of the payload.
};

/// An entry as it lies in a store, whose head is intact. The payload is not checked yet.
struct StoreEntry {
  std::string name;  ///< Of the data file, without its folder.
  EntryKey key;
  io::FileIdentity identity;
  std::span<const std::byte> payload;
  std::uint32_t crc = 0;  ///< CRC-32C of the payload.
  std::size_t bytes = 0;  ///< Of the whole entry.
};
/// The entry that begins there; empty: no intact one does.
[[nodiscard]] std::optional<StoreEntry> entry_at(std::span<const std::byte> bytes);

/// An entry to store.
struct NewEntry {
  EntryKey key;
  io::FileIdentity identity;
  std::span<const std::byte> payload;
};
/// One store: the entries of the files of one folder, in one file that grows (docs/formats/index.md).
///
///     entry: head (magic, sizes, key, identity, checksums) │ name │ payload     entry     entry  …  [a torn tail]
///
/// The mapped file is looked through once, head by head; later only what was appended since. The first head that is not
/// intact ends the entries. Owned by IndexStores, whose mutex guards it.
class IndexStore {
 public:
  explicit IndexStore(StorePlace place) : place_{std::move(place)} {}

  /// Looks for entries that other writers have appended. A store that is not there or cannot be read has no entries;
  /// then `fault` says why.
  void refresh();
  /// The entries of a file with that key, the last one first. Those of an older version of the file than its last entry
  /// are left out.
  [[nodiscard]] std::vector<FoundEntry> find(const std::string& name, const EntryKey& key) const;
  /// The last entry of each key of the present version of a file.
  [[nodiscard]] std::vector<StoreEntry> entries_of(const std::string& name) const;
  /// Appends entries of the file `name`, whose path is `file`. Replaces the store when more than half of it is
  /// superseded, or when a writer has left a torn entry at its end. Returns whether these are its first entries.
  [[nodiscard]] Result<bool> append(const std::string& file, const std::string& name,
                                    std::span<const NewEntry> entries);
  /// Where the entries of a file begin and end that are valid now; empty: it has none.
  [[nodiscard]] io::ByteRange range_of(const std::string& name) const;
  [[nodiscard]] const std::string& path() const { return place_.path; }
  [[nodiscard]] const std::string& fault() const { return fault_; }  ///< Why it cannot be read; empty when it can.

 private:
  struct At {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  /// The entries of one version of one file.
  struct OfFile {
    io::FileIdentity identity;
    std::map<EntryKey, std::vector<At>> entries;
    std::size_t bytes = 0;
  };
  void forget();
  void look_through();
  [[nodiscard]] bool add_entry();  // false: there is no intact entry at end_
  [[nodiscard]] bool replace_needed() const;
  [[nodiscard]] Result<void> replace(const std::string& file) const;
  [[nodiscard]] std::vector<At> live(const std::string& folder) const;

  const StorePlace place_;
  std::shared_ptr<MappedFile> mapping_;
  std::map<std::string, OfFile, std::less<>> files_;
  std::size_t end_ = 0;         // of the intact entries
  std::size_t superseded_ = 0;  // bytes of them
  bool too_large_ = false;      // the file is no store
  bool swept_ = false;
  std::string fault_;
};

class PublishedIndexes;

/// The stores that one run, or one call of a program, uses. Any thread may call.
class IndexStores {
 public:
  /// `index_dir`: the folder for all stores; empty: the usual places (store_place.h).
  explicit IndexStores(std::string index_dir = {});
  ~IndexStores();

  [[nodiscard]] std::vector<StorePlace> places(const std::string& file) const { return places_of(file, index_dir_); }
  /// The entries with that key of a data file in a place, the last one first. Looks for new ones when `anew`, or when
  /// there is none. `fault` says why the store cannot be read.
  [[nodiscard]] std::vector<FoundEntry> find(const StorePlace& place, const std::string& file, const EntryKey& key,
                                             bool anew, std::string& fault) EXCLUDES(mutex_);
  /// Calls `use` with the last entry of each key of a data file in a place, as far as they are of this version of it.
  /// The payloads are valid during the call.
  void each_entry(const StorePlace& place, const std::string& file, const io::FileIdentity& identity,
                  const std::function<void(const StoreEntry&)>& use) EXCLUDES(mutex_);
  /// Stores entries of a data file in the first of its places where that is possible. Returns the path of the store.
  [[nodiscard]] Result<std::string> append(const std::string& file, std::span<const NewEntry> entries) EXCLUDES(mutex_);
  /// What is published with data of other machines.
  [[nodiscard]] PublishedIndexes& published() const { return *published_; }
  /// A line for people, once: where a new store was made that nobody asked for by `index_dir`, or why none can be made.
  /// Empty when there is nothing to say.
  [[nodiscard]] std::string take_notice() EXCLUDES(mutex_);
  /// Adds another line for people, which comes with a later call. Of many that nobody takes only the first ones stay.
  void add_notice(std::string line) EXCLUDES(mutex_);

 private:
  void note(std::string line) REQUIRES(mutex_);
  [[nodiscard]] IndexStore& at(const StorePlace& place) REQUIRES(mutex_);

  const std::string index_dir_;
  const std::unique_ptr<PublishedIndexes> published_;
  Mutex mutex_;
  std::map<StorePlace, IndexStore> stores_ GUARDED_BY(mutex_);
  std::deque<std::string> notices_ GUARDED_BY(mutex_);
  bool noted_ GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::engine
