// SPDX-License-Identifier: Apache-2.0
#include "engine/index/published/published_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "columns/crc32c.h"
#include "engine/index/published/file_ends.h"
#include "engine/memory/catch_all.h"
#include "engine/requests/requested_file.h"
#include "io/atomic_file.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/paths.h"
#include "stores/registry.h"
#include "stores/waits.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t max_fetched = std::int64_t{256} << 20;  // bytes of a store without a catalogue, or of one index
constexpr std::int64_t max_joined = std::int64_t{8} << 20;     // bytes of entries that are asked for together
constexpr std::int64_t max_gap = std::int64_t{64} << 10;       // bytes between them that nobody wants
constexpr std::int64_t max_catalogue = std::int64_t{64} << 20;
constexpr std::int64_t max_at_once = std::int64_t{64} << 20;     // bytes of the first answers of all folders
constexpr std::int64_t usual_catalogue = std::int64_t{1} << 20;  // of the first answer

std::int64_t room(const BufferPool& pool, std::int64_t most) { return std::min(most, pool.limit() / 8); }

std::string published_path(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}/{}", folder, io::store_folder, name);
}

/// A file whose first bytes were asked for together with its version.
class Beginning {
 public:
  /// Waits for them.
  static Result<Beginning> of(std::shared_ptr<Request> asked, std::shared_ptr<Requests> requests) {
    requests->wait(*asked);
    if (asked->error()) return *asked->error();
    return Beginning{std::move(asked), std::move(requests)};
  }
  [[nodiscard]] const io::RandomAccessFile::Identity& version() const { return asked_->version(); }
  [[nodiscard]] bool is_whole() const { return std::ssize(asked_->bytes()) == version().size; }

  /// Gives all bytes of the file, which is at `target`, to `use`, one stretch after the other.
  Result<void> fetch(RequestTarget target, const std::function<Result<void>(std::span<const std::byte>)>& use) const {
    FOREBAY_DO(use(asked_->bytes()));
    if (is_whole()) return {};
    target.version = version();
    RequestedFile file{requests_, std::make_shared<const RequestTarget>(std::move(target))};
    std::vector<std::byte> some(std::size_t{1} << 20);
    file.need();
    std::int64_t at = std::ssize(asked_->bytes());
    file.go_to(at);
    while (at < file.size()) {
      FOREBAY_TRY(const std::size_t got, file.read_some(some, at));
      if (got == 0) return Error{Code::data, Detail::data_loss, "it ends too soon"};
      FOREBAY_DO(use(std::span{some}.first(got)));
      at += static_cast<std::int64_t>(got);
      file.advance(at);
    }
    return {};
  }

 private:
  Beginning(std::shared_ptr<Request> asked, std::shared_ptr<Requests> requests)
      : asked_{std::move(asked)}, requests_{std::move(requests)} {}

  std::shared_ptr<Request> asked_;
  std::shared_ptr<Requests> requests_;
};

/// The store at `target`, by way of a file beside the store `place`, which has no name any more when this returns.
Result<IndexStore> fetch_store(const Beginning& file, const RequestTarget& target, const StorePlace& place) {
  FOREBAY_DO(io::make_private_folder(io::parent(place.path)));
  FOREBAY_TRY(io::AtomicFile copy, io::AtomicFile::create(place.path + "-fetched", io::Links::refuse));
  FOREBAY_DO(file.fetch(target, [&copy](std::span<const std::byte> bytes) { return copy.write(bytes); }));
  FOREBAY_DO(copy.flush());
  IndexStore out{{.path = copy.temporary(), .links = io::Links::refuse}};
  out.refresh();
  return out;
}

}  // namespace

/// One call of `take`.
class PublishedIndexes::Taking {
 public:
  Taking(std::shared_ptr<Requests> requests, const BufferPool& pool) : requests_{std::move(requests)}, pool_{pool} {}

  /// Begins to look for what is published of a file.
  void look(const IndexRequest& file, const Folder& folder) {
    const std::string name = io::base_name(file.file);
    if (folder.store) {
      const auto entries = folder.store->entries_of(name);
      if (!entries.empty()) consider({.file = &file, .entries = entries});
    } else if (folder.catalogue) {
      const CatalogueEntry* const entry = folder.catalogue->find(name);
      if (entry == nullptr) return;
      if (entry->identity.size != file.identity->size) return leave({.file = &file});
      if (entry->entries.end() > folder.indexes.version.size || entry->entries.bytes > room(pool_, max_fetched)) return;
      listed_[&folder].push_back({.range = entry->entries, .file = &file});
    }
  }

  /// Waits for what was asked for, and stores what is good.
  void finish() {
    for (auto& [folder, listed] : listed_) ask(*folder, listed);
    for (const Fetched& fetched : std::exchange(fetched_, {})) {
      requests_->wait(*fetched.image);
      if (fetched.image->error()) {
        fail(fetched.image->error()->at(Place{.file = fetched.path}));
        continue;
      }
      for (Found& found : entries_in(fetched)) consider(std::move(found));
    }
    for (const Found& found : std::exchange(same_size_, {})) {
      const auto now = found.now->wait(*requests_);
      if (!now.ok()) {
        fail(now.error());
      } else if (found.ends == *now) {
        store(found);
      } else {
        leave(found);
      }
    }
  }

  /// A line for people; empty: there is nothing to say.
  [[nodiscard]] std::string notice() const {
    if (fault_) return fmt::format("what is published cannot be used, so indexes are made: {}", fault_->text());
    if (left_ == 0) return {};
    return fmt::format(
        "{} published {} not used, that of '{}' among them: {}; `forebay index --publish` makes new ones", left_,
        left_ == 1 ? "index is" : "indexes are", left_out_,
        without_checksums_ ? "a format without checksums needs the version of the file that was indexed"
                           : "the files have changed since");
  }

 private:
  struct Listed {
    io::ByteRange range;  // of the entries in the store
    const IndexRequest* file = nullptr;
  };
  /// Entries of several files that lie side by side.
  struct Fetched {
    std::string path;  // of the store
    std::vector<const IndexRequest*> files = {};
    std::shared_ptr<Request> image = {};
  };
  struct Found {
    const IndexRequest* file = nullptr;
    std::vector<StoreEntry> entries = {};  // of one version of the file
    std::shared_ptr<Request> image = {};   // has the bytes of the entries; null: the folder's store has
    std::optional<FileEnds> ends = {};     // of the file that the entries are of
    std::optional<AskedEnds> now = {};     // of the present file
  };

  /// Asks for the entries of these files in a store. What lies close together comes in one range.
  void ask(const Folder& folder, std::vector<Listed>& listed) {
    std::ranges::sort(listed, {}, [](const Listed& one) { return one.range.offset; });
    const auto target = std::make_shared<const RequestTarget>(folder.indexes);
    for (std::size_t i = 0; i < listed.size();) {
      io::ByteRange range = listed[i].range;
      Fetched next{.path = target->path};
      for (; i < listed.size(); ++i) {
        const std::int64_t end = std::max(range.end(), listed[i].range.end());
        const bool close = listed[i].range.offset <= range.end() + max_gap && end - range.offset <= max_joined;
        if (!next.files.empty() && !close) break;
        range.bytes = end - range.offset;
        next.files.push_back(listed[i].file);
      }
      next.image = requests_->ask(target, range);
      fetched_.push_back(std::move(next));
    }
  }

  static std::vector<Found> entries_in(const Fetched& fetched) {
    std::map<std::string, Found> by_name;
    for (const IndexRequest* file : fetched.files)
      by_name[io::base_name(file->file)] = {.file = file, .image = fetched.image};
    const auto bytes = fetched.image->bytes();
    for (std::size_t at = 0; at < bytes.size();) {
      auto entry = entry_at(bytes.subspan(at));
      if (!entry) break;
      at += entry->bytes;
      const auto found = by_name.find(entry->name);
      if (found != by_name.end()) found->second.entries.push_back(*std::move(entry));
    }
    std::vector<Found> out;
    for (auto& [name, found] : by_name) {
      if (!found.entries.empty()) out.push_back(std::move(found));
    }
    return out;
  }

  /// Stores what is of the present version, and begins to compare the ends of the others.
  void consider(Found found) {
    const io::FileIdentity identity = found.entries.back().identity;
    std::erase_if(found.entries, [&](const StoreEntry& entry) { return entry.identity != identity; });
    if (identity == *found.file->identity) return store(found);
    found.ends = FileEnds::of(found.entries);
    if (identity.size != found.file->identity->size || !found.ends) return leave(found);
    if (!found.file->format->has_checksums()) {
      without_checksums_ = true;
      return leave(found);
    }
    found.now.emplace(*requests_, found.file->file, *found.file->identity);
    same_size_.push_back(std::move(found));
  }

  void leave(const Found& found) {
    ++left_;
    if (left_out_.empty()) left_out_ = found.file->file;
  }

  void fail(const Error& error) {
    if (!fault_) fault_ = error;
  }

  /// Puts the entries that are intact into the store of the file.
  void store(const Found& found) {
    std::vector<std::vector<std::byte>> images;
    std::vector<NewEntry> entries;
    images.reserve(found.entries.size());
    for (const StoreEntry& entry : found.entries) {
      if (columns::crc32c(entry.payload) != entry.crc) continue;
      std::span<const std::byte> payload = entry.payload;
      if (entry.key.kind == StoredKind::records) {
        auto index = RecordIndex::parse({payload.begin(), payload.end()});
        if (!index.ok()) continue;
        payload = images.emplace_back((*index)->image_for(*found.file->identity));
      }
      entries.push_back({.key = entry.key, .identity = *found.file->identity, .payload = payload});
    }
    if (!entries.empty()) static_cast<void>(found.file->stores->append(found.file->file, entries));  // says so itself
  }

  const std::shared_ptr<Requests> requests_;
  const BufferPool& pool_;
  std::map<const Folder*, std::vector<Listed>> listed_;  // what catalogues say of the files
  std::vector<Fetched> fetched_;                         // entries that were asked for
  std::vector<Found> same_size_;                         // ends that were asked for
  std::int64_t left_ = 0;
  std::string left_out_;
  bool without_checksums_ = false;
  std::optional<Error> fault_;
};

/// Adds what is to be asked for to `asked`. Together the answers take a small part of the memory.
void PublishedIndexes::ask_missing(std::span<const IndexRequest> files, const AskingForIndexes& asking,
                                   AskedFolders& asked) const {
  if (!asked.requests) {
    asked.requests = std::make_shared<Requests>(asking.pool);
    asked.requests->ask_whether(asking.go_on ? asking.go_on : stores::goes_on);
  }
  std::vector<std::pair<std::string, FileSystem*>> missing;
  for (const IndexRequest& file : files) {
    std::string path = io::parent(file.file);
    if (folders_.contains(path) || asked.folders.contains(path) || file.stores->places(file.file).empty()) continue;
    if (asking.known && asking.known->is_without_indexes(path)) continue;
    asked.folders.try_emplace(path);
    missing.emplace_back(std::move(path), stores::file_system_of(file.file));
  }
  for (const auto& [path, system] : missing) {
    const std::int64_t first = room(*asking.pool, max_at_once) / std::ssize(missing);
    AskedFolders::Folder& folder = asked.folders[path];
    folder.indexes = asked.requests->find(*system, published_path(path, store_name), first);
    folder.catalogue =
        asked.requests->find(*system, published_path(path, catalogue_name), std::min(first, usual_catalogue));
  }
}

/// Returns the entry of the folder of a file. The first call for a folder waits for the answers in `asked`.
PublishedIndexes::Folder& PublishedIndexes::folder_of(const IndexRequest& file, const AskedFolders& asked,
                                                      const AskingForIndexes& asking) {
  const std::string path = io::parent(file.file);
  const auto [at, anew] = folders_.try_emplace(path);
  Folder& out = at->second;
  const auto answers = asked.folders.find(path);
  if (!anew || answers == asked.folders.end()) return out;
  const auto found = [&]() -> Result<void> {
    FileSystem* const system = stores::file_system_of(file.file);
    FOREBAY_TRY(Beginning indexes, Beginning::of(answers->second.indexes, asked.requests));
    out.indexes = {.system = system, .path = published_path(path, store_name), .version = indexes.version()};
    const auto place = file.stores->places(file.file).front();
    if (!indexes.is_whole()) {
      auto listed = Beginning::of(answers->second.catalogue, asked.requests);
      if (listed.ok() && listed->version().size <= room(*asking.pool, max_catalogue)) {
        std::string text;
        FOREBAY_DO(listed->fetch({.system = system, .path = published_path(path, catalogue_name), .version = {}},
                                 [&text](std::span<const std::byte> bytes) {
                                   text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                                   return Result<void>{};
                                 }));
        FOREBAY_TRY(out.catalogue, Catalogue::parse(text));
        return {};
      }
      if (indexes.version().size > room(*asking.pool, max_fetched))
        return Error{Code::data, Detail::resource_exhausted,
                     fmt::format("it has {} bytes, and without a catalogue it is fetched whole only up to {}; `forebay "
                                 "index --publish` writes one",
                                 indexes.version().size, room(*asking.pool, max_fetched))};
    }
    FOREBAY_TRY(IndexStore store, fetch_store(indexes, out.indexes, place));
    out.store.emplace(std::move(store));
    return {};
  }();
  const Detail detail = found.ok() ? Detail::none : found.error().detail();
  if (!found.ok() && asking.known) asking.known->add_without_indexes(path);
  // A store may refuse what is not there.
  if (!found.ok() && detail != Detail::not_found && detail != Detail::permission_denied)
    file.stores->add_notice(fmt::format("the indexes that are published in '{}' are not used: {}",
                                        published_path(path, ""), found.error().text()));
  return out;
}

AskedFolders PublishedIndexes::ask(std::span<const IndexRequest> files, const AskingForIndexes& asking) {
  AskedFolders out;
  const Lock lock{mutex_};
  ask_missing(files, asking, out);
  return out;
}

void PublishedIndexes::take(std::span<const IndexRequest> files, const AskingForIndexes& asking, AskedFolders asked) {
  const auto thrown = catch_all(
      [&] {
        const Lock lock{mutex_};
        ask_missing(files, asking, asked);
        Taking taking{asked.requests, *asking.pool};
        for (const IndexRequest& file : files) taking.look(file, folder_of(file, asked, asking));
        asked.folders.clear();
        taking.finish();
        if (std::string notice = taking.notice(); !notice.empty()) files.front().stores->add_notice(std::move(notice));
      },
      no_memory_for_index);
  if (asked.requests) asked.requests->stop();  // what nobody has waited for
  // Whether it was interrupted, the caller sees by `go_on`.
  if (thrown && thrown->code() != Code::cancelled)
    files.front().stores->add_notice(fmt::format("what is published is not used: {}", thrown->text()));
}

AskedFolders ask_published(std::span<const IndexRequest> files, const AskingForIndexes& asking) {
  std::vector<IndexRequest> lacking;
  std::set<std::string> folders;
  for (const IndexRequest& file : files) {
    if (stores::file_system_of(file.file) == nullptr || !folders.insert(io::parent(file.file)).second) continue;
    const auto is_there = [](const StorePlace& place) { return io::file_size(place.path).ok(); };
    if (std::ranges::none_of(file.stores->places(file.file), is_there)) lacking.push_back(file);
  }
  return lacking.empty() ? AskedFolders{} : lacking.front().stores->published().ask(lacking, asking);
}

void take_published(std::span<const IndexRequest> files, std::span<const EntryKey> keys, const AskingForIndexes& asking,
                    AskedFolders asked) {
  const auto has = [](const IndexRequest& file, const EntryKey& key) {
    std::string fault;
    return std::ranges::any_of(file.stores->places(file.file), [&](const StorePlace& place) {
      const auto found = file.stores->find(place, file.file, key, false, fault);
      return !found.empty() && found.front().identity == *file.identity;
    });
  };
  std::vector<IndexRequest> lacking;
  for (const IndexRequest& file : files) {
    if (!file.identity || !file.identity->is_version() || stores::file_system_of(file.file) == nullptr) continue;
    if (std::ranges::any_of(keys, [&](const EntryKey& key) { return !has(file, key); })) lacking.push_back(file);
  }
  if (!lacking.empty()) return lacking.front().stores->published().take(lacking, asking, std::move(asked));
  if (asked.requests) asked.requests->stop();
}

}  // namespace forebay::engine
