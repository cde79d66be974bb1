// SPDX-License-Identifier: Apache-2.0
#include "engine/index/index_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "columns/crc32c.h"
#include "columns/crc32c_ranges.h"
#include "engine/index/published/published_index.h"
#include "io/atomic_file.h"
#include "io/paths.h"
#include "stores/registry.h"

namespace forebay::engine {
namespace {

constexpr std::array<char, 8> entry_magic{'\x89', 'F', 'B', 'E', 'N', 'T', 'R', '\n'};
constexpr std::size_t max_name = 4096;
constexpr std::int64_t max_store_bytes = std::int64_t{1} << 40;  // a larger file is no store, and need not be mappable
constexpr std::size_t min_superseded = std::size_t{64} << 10;    // bytes: a smaller gain is not worth a new store
constexpr std::array<std::byte, 8> zeros{};

/// The head of an entry; all numbers are little-endian. The name and the payload follow, each with zeros up to a
/// multiple of 8 bytes.
struct StoredEntry {
  std::array<char, 8> magic = entry_magic;
  std::uint64_t payload_bytes = 0;
  std::uint64_t made_by = 0;
  std::int64_t file_size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t head_hash = 0;
  std::uint64_t tail_hash = 0;
  std::uint32_t kind = 0;
  std::uint32_t name_bytes = 0;
  std::uint32_t payload_crc = 0;
  std::uint32_t head_crc = 0;  ///< CRC-32C of the bytes before it and of the name.
};
static_assert(sizeof(StoredEntry) == 72);

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

std::uint32_t crc_of(const StoredEntry& head, std::string_view name) {
  const auto fixed = std::as_bytes(std::span{&head, 1}).first(sizeof(head) - sizeof(head.head_crc));
  return columns::crc32c_joined(columns::crc32c(fixed), columns::crc32c(std::as_bytes(std::span{name})), name.size());
}

StoredEntry load_head(const std::byte* at) {
  StoredEntry out;
  std::memcpy(&out, at, sizeof(out));
  return out;
}

StoredEntry head_of(const NewEntry& entry, const std::string& name) {
  StoredEntry out{.payload_bytes = entry.payload.size(),
                  .made_by = entry.key.made_by,
                  .file_size = entry.identity.size,
                  .modified_ns = entry.identity.modified_ns,
                  .head_hash = entry.identity.head,
                  .tail_hash = entry.identity.tail,
                  .kind = static_cast<std::uint32_t>(entry.key.kind),
                  .name_bytes = static_cast<std::uint32_t>(name.size()),
                  .payload_crc = columns::crc32c(entry.payload)};
  out.head_crc = crc_of(out, name);
  return out;
}

io::FileIdentity identity_of(const StoredEntry& head) {
  return {.size = head.file_size, .modified_ns = head.modified_ns, .head = head.head_hash, .tail = head.tail_hash};
}

}  // namespace

std::optional<StoreEntry> entry_at(std::span<const std::byte> rest) {
  if (rest.size() < sizeof(StoredEntry)) return std::nullopt;
  const StoredEntry head = load_head(rest.data());
  if (head.magic != entry_magic || head.name_bytes > max_name) return std::nullopt;
  const std::size_t before = sizeof(head) + padded(head.name_bytes);
  if (before > rest.size() || head.payload_bytes > rest.size() - before) return std::nullopt;
  const std::size_t bytes = before + padded(head.payload_bytes);
  if (bytes > rest.size()) return std::nullopt;
  if (!all_zero(rest.first(before).subspan(sizeof(head) + head.name_bytes)) ||
      !all_zero(rest.first(bytes).subspan(before + head.payload_bytes)))
    return std::nullopt;
  std::string name(head.name_bytes, '\0');  // a copy: another process may change the mapped bytes
  std::memcpy(name.data(), rest.data() + sizeof(head), name.size());
  if (crc_of(head, name) != head.head_crc) return std::nullopt;
  return StoreEntry{.name = std::move(name),
                    .key = {static_cast<StoredKind>(head.kind), head.made_by},
                    .identity = identity_of(head),
                    .payload = rest.subspan(before, head.payload_bytes),
                    .crc = head.payload_crc,
                    .bytes = bytes};
}

void IndexStore::forget() {
  mapping_.reset();
  files_.clear();
  end_ = superseded_ = 0;
  too_large_ = false;
}

void IndexStore::refresh() {
  fault_.clear();
  const auto file = io::File::open(place_.path, place_.links);
  if (!file.ok()) {
    forget();
    if (file.error().detail() != Detail::not_found) fault_ = file.error().message();
    return;
  }
  const bool same = mapping_ && mapping_->identity().same_file(file->identity());
  if (same && static_cast<std::int64_t>(mapping_->bytes().size()) == file->size()) return;
  if (!same || file->size() < static_cast<std::int64_t>(end_)) forget();
  if (file->size() == 0) return;
  if (file->size() > max_store_bytes) {
    forget();
    too_large_ = true;
    return;
  }
  auto mapped = MappedFile::map(*file);
  if (!mapped.ok()) {
    forget();
    fault_ = mapped.error().message();
    return;
  }
  mapping_ = *std::move(mapped);
  look_through();
}

void IndexStore::look_through() {
  while (add_entry()) {}
}

bool IndexStore::add_entry() {
  const auto entry = entry_at(mapping_->bytes().subspan(end_));
  if (!entry) return false;
  OfFile& of = files_[entry->name];
  if (of.identity != entry->identity) {
    superseded_ += of.bytes;
    of = {.identity = entry->identity, .entries = {}, .bytes = 0};
  }
  auto& same = of.entries[entry->key];
  same.push_back(
      {.offset = end_, .bytes = entry->bytes});  // without memory the list may stay empty: nothing else has changed
  if (same.size() > 1) {
    const std::size_t before_it = same[same.size() - 2].bytes;
    superseded_ += before_it;
    of.bytes -= before_it;
  }
  of.bytes += entry->bytes;
  end_ += entry->bytes;
  return true;
}

std::vector<StoreEntry> IndexStore::entries_of(const std::string& name) const {
  std::vector<StoreEntry> out;
  const auto of = files_.find(name);
  if (of == files_.end()) return out;
  for (const auto& [key, entries] : of->second.entries) {
    if (entries.empty()) continue;
    auto entry = entry_at(mapping_->bytes().subspan(entries.back().offset, entries.back().bytes));
    // The mapped bytes may have changed since they were looked through.
    if (entry && entry->name == name && entry->key == key && entry->identity == of->second.identity)
      out.push_back(*std::move(entry));
  }
  return out;
}

std::vector<FoundEntry> IndexStore::find(const std::string& name, const EntryKey& key) const {
  std::vector<FoundEntry> out;
  const auto of = files_.find(name);
  if (of == files_.end()) return out;
  const auto entries = of->second.entries.find(key);
  if (entries == of->second.entries.end()) return out;
  for (auto at = entries->second.rbegin(); at != entries->second.rend(); ++at) {
    const StoredEntry head = load_head(mapping_->bytes().data() + at->offset);
    const std::size_t before = sizeof(head) + padded(name.size());
    // The mapped head may have changed since it was checked; the sizes in `at` have not.
    if (head.payload_bytes > at->bytes - before) continue;
    out.push_back({.mapping = mapping_,
                   .identity = of->second.identity,
                   .payload = mapping_->bytes().subspan(at->offset + before, head.payload_bytes),
                   .crc = head.payload_crc});
  }
  return out;
}

io::ByteRange IndexStore::range_of(const std::string& name) const {
  const auto of = files_.find(name);
  if (of == files_.end()) return {};
  std::size_t begin = end_, end = 0;
  for (const auto& [key, entries] : of->second.entries) {
    if (entries.empty()) continue;
    begin = std::min(begin, entries.back().offset);
    end = std::max(end, entries.back().offset + entries.back().bytes);
  }
  if (begin >= end) return {};
  return {.offset = static_cast<std::int64_t>(begin), .bytes = static_cast<std::int64_t>(end - begin)};
}

bool IndexStore::replace_needed() const {
  const std::size_t size = mapping_ ? mapping_->bytes().size() : 0;
  return too_large_ || end_ < size || (superseded_ > min_superseded && superseded_ > end_ / 2);
}

Result<bool> IndexStore::append(const std::string& file, const std::string& name, std::span<const NewEntry> entries) {
  if (name.size() > max_name) return io::system_error("write", file, ENAMETOOLONG);
  for (int attempt = 0; attempt < 2; ++attempt) {
    FOREBAY_TRY(LockedStore locked, LockedStore::open(place_.path, file));
    if (!std::exchange(swept_, true)) locked.sweep();
    refresh();
    if (attempt == 0 && replace_needed()) {
      FOREBAY_DO(replace(file));
      continue;  // with the lock of the new store
    }
    const bool first = locked.size() == 0;
    for (const NewEntry& entry : entries) {
      const StoredEntry head = head_of(entry, name);
      const std::span<const std::byte> padding{zeros};
      const std::array<std::span<const std::byte>, 5> pieces{
          std::as_bytes(std::span{&head, 1}), std::as_bytes(std::span{name}),
          padding.first(padded(name.size()) - name.size()), entry.payload,
          padding.first(padded(entry.payload.size()) - entry.payload.size())};
      FOREBAY_DO(locked.append(pieces));
    }
    return first;
  }
  return Error{Code::internal, "the store was not written"};
}

/// The places of the entries that are valid now, in their order, of files that are still in their folder, as far as
/// that is known without asking another machine.
std::vector<IndexStore::At> IndexStore::live(const std::string& folder) const {
  std::vector<At> out;
  for (const auto& [name, of] : files_) {
    const std::string file = io::resolve(name, folder);
    if (stores::file_system_of(file) == nullptr && !io::file_size(file).ok()) continue;
    for (const auto& [key, entries] : of.entries)
      if (!entries.empty()) out.push_back(entries.back());
  }
  std::ranges::sort(out, {}, &At::offset);
  return out;
}

/// Writes the valid entries to a new store and puts it in the place of this one, whose lock the caller has.
Result<void> IndexStore::replace(const std::string& file) const {
  FOREBAY_TRY(io::AtomicFile out, io::AtomicFile::create(place_.path, io::Links::refuse));
  // The store has the permissions of the data file; those of a file of another machine are not known.
  FOREBAY_DO(out.permit_no_more_than(stores::file_system_of(file) == nullptr ? file : place_.path));
  for (const At& at : live(io::parent(file))) {
    const auto entry = mapping_->bytes().subspan(at.offset, at.bytes);
    const StoredEntry head = load_head(entry.data());
    const std::size_t before = sizeof(head) + padded(head.name_bytes);
    const bool intact = before <= at.bytes && head.payload_bytes <= at.bytes - before &&
                        columns::crc32c(entry.subspan(before, head.payload_bytes)) == head.payload_crc;
    if (intact) FOREBAY_DO(out.write(entry));
  }
  return out.commit();
}

IndexStores::IndexStores(std::string index_dir)
    : index_dir_{std::move(index_dir)}, published_{std::make_unique<PublishedIndexes>()} {}

IndexStores::~IndexStores() = default;

IndexStore& IndexStores::at(const StorePlace& place) { return stores_.try_emplace(place, place).first->second; }

std::vector<FoundEntry> IndexStores::find(const StorePlace& place, const std::string& file, const EntryKey& key,
                                          bool anew, std::string& fault) {
  const Lock lock{mutex_};
  IndexStore& store = at(place);
  const std::string name = io::base_name(file);
  if (anew) store.refresh();
  std::vector<FoundEntry> out = store.find(name, key);
  if (out.empty() && !anew) {
    store.refresh();
    out = store.find(name, key);
  }
  fault = store.fault();
  return out;
}

void IndexStores::each_entry(const StorePlace& place, const std::string& file, const io::FileIdentity& identity,
                             const std::function<void(const StoreEntry&)>& use) {
  const Lock lock{mutex_};
  IndexStore& store = at(place);
  store.refresh();
  for (const StoreEntry& entry : store.entries_of(io::base_name(file))) {
    if (entry.identity == identity) use(entry);
  }
}

Result<std::string> IndexStores::append(const std::string& file, std::span<const NewEntry> entries) {
  Error last{Code::io, Detail::not_found, "no cache folder either ($FOREBAY_CACHE, $HOME)"};
  const Lock lock{mutex_};
  for (const StorePlace& place : places(file)) {
    IndexStore& store = at(place);
    const auto done = store.append(file, io::base_name(file), entries);
    if (done.ok()) {
      if (*done && index_dir_.empty())
        note("record indexes are stored in '" + io::parent(store.path()) + "', which may be deleted at any time");
      return store.path();
    }
    last = done.error();
    if (last.detail() != Detail::permission_denied) break;
  }
  note("record indexes cannot be stored, so every run makes them again (" + last.text() +
       "); index_dir names another folder for them");
  return last;
}

/// Retains the first line only: one says enough.
void IndexStores::note(std::string line) {
  if (!std::exchange(noted_, true)) notices_.push_back(std::move(line));
}

void IndexStores::add_notice(std::string line) {
  constexpr std::size_t max_notices = 16;
  const Lock lock{mutex_};
  if (notices_.size() < max_notices) notices_.push_back(std::move(line));
}

std::string IndexStores::take_notice() {
  const Lock lock{mutex_};
  if (notices_.empty()) return {};
  std::string out = std::move(notices_.front());
  notices_.pop_front();
  return out;
}

}  // namespace forebay::engine
