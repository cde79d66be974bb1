// SPDX-License-Identifier: Apache-2.0
#include "engine/order/files/indexed_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include <fmt/core.h>

#include "engine/order/files/own_rows.h"
#include "engine/order/files/packed_reader.h"
#include "engine/read/file_cache.h"
#include "stores/registry.h"

namespace forebay::engine {
namespace {

constexpr std::size_t entries_ahead = 32;  // index entries are prefetched this many entries before they are read

}  // namespace

IndexedReader::File& IndexedReader::at(std::uint32_t file) {
  const auto& paths = program_.source.files;
  if (files_.size() < paths.size()) {
    files_.resize(paths.size());
    requested_ = std::ranges::any_of(paths, [](const auto& path) { return stores::file_system_of(path) != nullptr; });
  }
  return files_[file];
}

/// Takes the index into memory. Returns false when all indexes would take more than half of the budget.
bool IndexedReader::keep(File& file, MadeIndex& made) {
  if (!made.index) return true;
  file.attributes = std::move(made.attributes);
  file.index = std::move(made.index);
  select(file);
  std::int64_t bytes =
      std::ssize(file.index->image()) + std::ssize(file.selected) * std::int64_t{sizeof(std::uint32_t)};
  for (const AttributeColumn& column : file.attributes) bytes += column.owned();
  if (index_bytes_ + bytes > pool_->limit() / 2) {
    made.index = std::move(file.index);
    made.attributes = std::move(file.attributes);
    file.selected = {};
    return false;
  }
  index_bytes_ += bytes;
  made.charge.reset();
  file.charge = pool_->charge(bytes, MemoryUse::scan);
  // Set before the first call of `window`, whose result depends on it.
  const bool compressed = file.index->compression() != Compression::none;
  fetches_ = fetches_ || compressed || requested_;
  const auto number = static_cast<std::uint32_t>(&file - files_.data());
  if (stays(number)) kept_bytes_ += file.index->identity().size;
  const bool is_requested = stores::file_system_of(program_.source.files[number]) != nullptr;
  file.alone = some_rows_ && is_requested && why_whole(number).empty();
  return true;
}

/// Lists the records of a file that the selecting filters keep.
void IndexedReader::select(File& file) const {
  if (program_.early.selecting == 0) return;
  const std::span<const AttributeColumn> filters{file.attributes.data(), program_.early.selecting};
  for (std::int64_t record = 0; record < std::min<std::int64_t>(file.index->records(), UINT32_MAX); ++record) {
    const bool keeps =
        std::ranges::all_of(filters, [&](const AttributeColumn& column) { return column.at(record) != 0; });
    if (keeps) file.selected.push_back(static_cast<std::uint32_t>(record));
  }
}

/// Fails when the index has more content than `max_decompressed_bytes` allows; another run may have stored it.
Result<void> IndexedReader::check_content(std::uint32_t number, const RecordIndex& index) const {
  if (index.compression() == Compression::none || index.bytes() <= program_.source.max_decompressed_bytes) return {};
  return Error{
      Code::data, Detail::resource_exhausted,
      fmt::format("the compressed file has {} bytes of content, more than max_decompressed_bytes, {}; raise it if "
                  "that is no mistake",
                  index.bytes(), program_.source.max_decompressed_bytes),
      Place{.file = program_.source.files[number]}};
}

/// The error of indexes that take too much memory. Estimates the bytes of all indexes: those built so far, `not_kept`
/// of them without room, cover `share_made` of the bytes of all files.
Error IndexedReader::too_large(std::int64_t not_kept, double share_made) const {
  const bool all = share_made >= 1;
  const std::int64_t made = index_bytes_ + not_kept;
  const auto bytes = all ? made : std::llround(static_cast<double>(made) / std::max(share_made, 1e-9));
  return {
      Code::data, Detail::resource_exhausted,
      fmt::format("this run needs {} bytes of `memory` and has {}: the record indexes of its files take {}{} bytes, "
                  "12 a record{}, and may take half of it; raise `memory`, or use a shuffle buffer, which needs no "
                  "index",
                  2 * bytes, pool_->limit(), all ? "" : "about ", bytes,
                  program_.early.attributes.empty() ? "" : " and its attributes")};
}

IndexRequest IndexedReader::request(std::uint32_t file) const {
  IndexRequest out = request_for(program_.source, file);
  out.stores = stores_;
  return out;
}

std::optional<IndexRequest> IndexedReader::request_at_hand(std::uint32_t number) const {
  IndexRequest out = request(number);
  if (stores::file_system_of(out.file) == nullptr) return out;
  const auto version = program_.known ? program_.known->find(out.file) : std::nullopt;
  if (!version) return std::nullopt;
  out.identity = io::identity_of(*version);
  return out;
}

std::shared_ptr<const RecordIndex> IndexedReader::stored(std::uint32_t number) {
  File& file = at(number);
  const auto asked = file.looked || file.index ? std::nullopt : request_at_hand(number);
  if (!asked) return file.index;
  file.looked = true;
  auto found = load_made(program_, *asked);
  // A single record of a compressed file of another machine takes megabytes: from the restart point before it on.
  const bool whole =
      asked->identity && found && found->index->compression() != Compression::none && leaves_rows(program_);
  if (!found || whole || !keep(file, *found)) return file.index;
  file.skips = std::move(found->skips);
  file.numbers = places_of(*file.index, file.skips);
  return file.index;
}

std::optional<StoredValues> IndexedReader::stored_values(std::uint32_t number) {
  if (!stored(number)) return std::nullopt;
  const File& file = files_[number];
  return StoredValues{.records = file.index->records(), .attributes = file.attributes};
}

std::int64_t IndexedReader::number_in_index(const File& file, std::uint32_t ordinal) {
  const std::vector<std::int64_t>& left_out = file.numbers.left_out;
  return ordinal - (std::ranges::lower_bound(left_out, std::int64_t{ordinal}) - left_out.begin());
}

/// The files for which `lacks` is true, each once.
std::vector<std::uint32_t> IndexedReader::lacking(std::span<const std::uint32_t> files,
                                                  const std::function<bool(const File&)>& lacks) {
  std::vector<std::uint32_t> out;
  std::unordered_set<std::uint32_t> taken;
  for (const std::uint32_t number : files) {
    if (lacks(at(number)) && taken.insert(number).second) out.push_back(number);
  }
  return out;
}

bool IndexedReader::goes_to_stores(std::span<const std::uint32_t> files, bool count) {
  return std::ranges::any_of(files, [&](std::uint32_t number) {
    const File& file = at(number);
    return (count ? !file.records : !file.index) && stores::file_system_of(program_.source.files[number]) != nullptr;
  });
}

/// Loads or builds the indexes of files, and gives them to `take`, some at a time.
Result<void> IndexedReader::make(std::span<const std::uint32_t> missing, const std::function<bool()>& go_on,
                                 const TakeIndexes& take) {
  const IndexMeans means{.pool = pool_, .threads = threads_, .stores = stores_, .cache = ranges_.requests().cache()};
  return index_in_parallel(program_, missing, means, go_on,
                           [&](std::span<const std::uint32_t> some, std::span<MadeIndex> made) {
                             for (std::size_t i = 0; i < some.size(); ++i) versions_.indexed(some[i], made[i].size);
                             return take(some, made);
                           });
}

Result<void> IndexedReader::index(std::span<const std::uint32_t> files, const std::function<bool()>& go_on) {
  const auto missing = lacking(files, [](const File& file) { return !file.index; });
  std::int64_t bytes = 0, not_kept = 0;  // of files whose indexes were made, and of indexes without room
  return make(missing, go_on, [&](std::span<const std::uint32_t> some, std::span<MadeIndex> made) -> Result<void> {
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!made[i].index) continue;
      FOREBAY_DO(check_content(some[i], *made[i].index));
      bytes += made[i].index->identity().size;
      if (!keep(files_[some[i]], made[i])) not_kept += made[i].bytes();
      files_[some[i]].skips = std::move(made[i].skips);
    }
    if (not_kept == 0) return {};
    std::int64_t all = 0;
    for (const std::uint32_t number : missing) {
      if (const auto size = io::file_size(program_.source.files[number]); size.ok()) all += *size;
    }
    return too_large(not_kept, static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(all, 1)));
  });
}

Result<std::vector<std::int64_t>> IndexedReader::count(std::span<const std::uint32_t> files,
                                                       const std::function<bool()>& go_on) {
  const auto missing = lacking(files, [](const File& file) { return !file.records; });
  FOREBAY_DO(make(missing, go_on, [this](std::span<const std::uint32_t> some, std::span<MadeIndex> made) {
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (made[i].index) files_[some[i]].records = records_with(made[i], program_.early.counted);
    }
    return Result<void>{};
  }));
  std::vector<std::int64_t> out;
  for (const std::uint32_t number : files) out.push_back(*files_[number].records);
  return out;
}

/// Whether single records are read, with others between them that nobody needs. A page fault in a mapping would have
/// the system read those, too. An order that goes through many files at once would open them again and again
/// (FileCache).
bool IndexedReader::scattered(const RecordIndex& index) const {
  const bool few = program_.source.files.size() <= FileCache::max_open;
  return some_rows_ && (few || !program_.interleave.random_access) &&
         index.payload_bytes() / std::max<std::int64_t>(1, index.records()) >= min_own_record;
}

/// Tells people about the first file of which every record is read by decompressing all that is before it.
void IndexedReader::note_slow(std::uint32_t number) {
  constexpr std::int64_t soon = std::int64_t{4} << 20;  // bytes of content that are decompressed in no time
  const RecordIndex& index = *files_[number].index;
  if (noted_slow_ || index.compression() == Compression::none || index.points() > 1 || index.bytes() <= soon) return;
  noted_slow_ = true;
  note(fmt::format(
      "'{}' is one {} stream of {} bytes, and a global shuffle decompresses it from its beginning for every "
      "window of records; compress it anew in streams of some MiB (docs/files.md), or use a shuffle "
      "with a buffer",
      program_.source.files[number], EnumNames<Compression>::names[static_cast<std::size_t>(index.compression())],
      index.bytes()));
}

/// Adds the file's segments to the table, where they stay. Maps a plain file first.
Result<void> IndexedReader::open(std::uint32_t number) {
  File& file = files_[number];
  const RecordIndex& index = *file.index;
  const std::int64_t records = index.records() + std::ssize(file.numbers.left_out);
  if (records > std::int64_t{UINT32_MAX}) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("the file has {} records, at most {} can be reached by an index", records, UINT32_MAX),
                 Place{.file = program_.source.files[number]}};
  }
  PassCache::Mapped mapped;
  const bool local = stores::file_system_of(program_.source.files[number]) == nullptr;
  if (local && index.compression() == Compression::none && index.bytes() > 0) {
    FOREBAY_TRY(const io::File opened, io::File::open(program_.source.files[number]));
    FOREBAY_DO(settle(opened, false));
    FOREBAY_DO(versions_.opened(number, opened.identity()));
    mapped = pass_cache_.map(number, opened);
    versions_.mapped(number);
    if (opened.size() > 0 && mapped.error) return *mapped.error;
    if (!mapped.file || static_cast<std::int64_t>(mapped.file->bytes().size()) != index.bytes()) {
      return Error{Code::data, Detail::failed_precondition, "the file changed after its index was read",
                   Place{.file = program_.source.files[number]}};
    }
  }
  if (!local) versions_.indexed(number, index.identity().size);
  note_slow(number);
  for (std::int64_t base = 0; base <= index.bytes(); base += std::int64_t{1} << segment_bits) {
    auto block = std::make_unique<Block>();
    block->file = number;
    block->file_offset = base;
    block->first_record = 0;
    if (mapped.file) block->base = mapped.file->bytes().data() + base;
    block->mapping = mapped.file;
    block->kept = mapped.kept && !scattered(index);
    file.slots.push_back(table_.add_permanent(std::move(block)));
  }
  maps_ = maps_ || mapped.file != nullptr;
  file.mapping = std::move(mapped.file);
  opened_[number] = {.index = &index,
                     .slots = file.slots.data(),
                     .selected = program_.early.selecting > 0 ? file.selected.data() : nullptr};
  return {};
}

Result<void> IndexedReader::unchanged() const {
  for (std::size_t number = 0; number < files_.size(); ++number) {
    if (std::ranges::any_of(files_[number].attributes, &AttributeColumn::corrupt)) {
      return Error{Code::data, Detail::data_loss, "the stored attributes of the file were cut while they were read",
                   Place{.file = program_.source.files[number]}};
    }
    const MappedFile* const mapping = files_[number].mapping.get();
    if (mapping == nullptr) continue;
    const std::string& path = program_.source.files[number];
    if (const std::string change = mapping->change(path); !change.empty()) {
      return Error{Code::data, Detail::failed_precondition,
                   fmt::format("the file changed while it was read ({})", change), Place{.file = path}};
    }
  }
  return {};
}

Result<void> IndexedReader::locate(std::span<const RecordName> names, std::span<Handle> out) {
  opened_.resize(files_.size());
  for (const RecordName& name : names) {
    if (opened_[name.file].index == nullptr) FOREBAY_DO(open(name.file));
  }
  const auto prefetch = [this](const RecordName& name) {
    const Opened& file = opened_[name.file];
    file.index->prefetch(file.number(name.record));
  };
  if (program_.early.selecting > 0) {
    // The number of a record in its index is in other memory, so it is prefetched before the entry of the index.
    for (const RecordName& name : names) __builtin_prefetch(opened_[name.file].selected + name.record);
  }
  const std::size_t ahead = std::min(entries_ahead, names.size());
  const std::size_t rest = names.size() - ahead;
  for (std::size_t i = 0; i < ahead; ++i) prefetch(names[i]);
  for (std::size_t i = 0; i < rest; ++i) {
    prefetch(names[i + ahead]);
    out[i] = handle_of(names[i]);
  }
  for (std::size_t i = rest; i < names.size(); ++i) out[i] = handle_of(names[i]);
  return {};
}

/// Copies records into blocks, and changes their handles to name the copies.
Result<void> IndexedReader::fetch_absent(std::vector<Handle*>& absent, const RangeSets::Set* set,
                                         const std::function<bool()>& go_on) {
  const auto place = [&](const Handle* handle) {
    const Block& block = table_[handle->block];
    return std::pair{block.file, block.file_offset + handle->offset};
  };
  std::sort(absent.begin(), absent.end(), [&](const Handle* a, const Handle* b) { return place(a) < place(b); });
  for (std::size_t first = 0; first < absent.size();) {
    // A block has one file and one file_offset, so each segment gets a block of its own. Extents have 32 bits, and
    // copies of overlapping records may have more bytes than their segment, so a segment may get several blocks.
    std::uint64_t bytes = absent[first]->length + room_after_;
    std::size_t end = first + 1;
    for (; end < absent.size() && absent[end]->block == absent[first]->block; ++end) {
      bytes += absent[end]->length + room_after_;
      if (bytes > UINT32_MAX) break;
    }
    FOREBAY_DO(fetch_file(std::span{absent}.subspan(first, end - first), set, go_on));
    first = end;
  }
  return {};
}

/// Fails when the copies of one `fetch`, which are in memory together, need more than the budget.
Result<void> IndexedReader::check_room(std::span<Handle* const> handles) const {
  std::int64_t bytes = 0;
  const Handle* largest = nullptr;
  for (const Handle* handle : handles) {
    bytes += std::int64_t{handle->length} + static_cast<std::int64_t>(room_after_);
    if (largest == nullptr || handle->length > largest->length) largest = handle;
  }
  if (bytes <= pool_->limit()) return {};
  const Block& segment = table_[largest->block];
  return Error{
      Code::data, Detail::resource_exhausted,
      fmt::format("{} records that are decompressed together need {} bytes, this one {} of them, more than the "
                  "memory budget of {} bytes; raise `memory`",
                  handles.size(), bytes, largest->length, pool_->limit()),
      Place{.file = program_.source.files[segment.file],
            .record = largest->ordinal,
            .offset = segment.file_offset + largest->offset}};
}

/// Copies records of one segment, sorted by offset, into a new block, and changes their handles to name the copies.
Result<void> IndexedReader::fetch_file(std::span<Handle* const> handles, const RangeSets::Set* set,
                                       const std::function<bool()>& go_on) {
  const Block& segment = table_[handles.front()->block];
  const std::string& path = program_.source.files[segment.file];
  std::size_t bytes = 0;
  for (const Handle* handle : handles) bytes += handle->length + room_after_;
  auto block = std::make_unique<Block>();
  block->file = segment.file;
  block->file_offset = segment.file_offset;
  block->buffer = pool_->lend(bytes, MemoryUse::scan);
  block->buffer_bytes = bytes;
  block->base = block->buffer.get();
  std::optional<io::File> local;
  const io::RandomAccessFile* file = set != nullptr ? set->file(segment.file) : nullptr;
  if (file == nullptr) {
    FOREBAY_TRY(local, io::File::open(path));
    file = &*local;
  }
  const RecordIndex& index = *files_[segment.file].index;
  const bool plain = index.compression() == Compression::none;
  PackedReader reader{index, *file, go_on};
  std::size_t at = 0;
  for (const Handle* handle : handles) {
    const std::int64_t offset = segment.file_offset + handle->offset;
    // Two handles of the same record share one copy.
    if (!block->ordinals.empty() && block->ordinals.back() == handle->ordinal) continue;
    // A trailer that would lie past the end of the content is zeros; `verify` then finds the record corrupt.
    const std::int64_t left = std::max<std::int64_t>(0, index.bytes() - offset - std::int64_t{handle->length});
    const std::size_t trailer = std::min(trailer_, static_cast<std::size_t>(left));
    const std::span<std::byte> out{block->buffer.get() + at, handle->length + trailer};
    FOREBAY_DO((plain ? read_plain(*file, offset, out) : reader.read(offset, out)).at(Place{.file = path}));
    std::memset(block->buffer.get() + at + handle->length + trailer, 0, trailer_ - trailer);
    block->records.push_back({static_cast<std::uint32_t>(at), handle->length});
    block->ordinals.push_back(handle->ordinal);
    at += handle->length + room_after_;
  }
  FOREBAY_DO(file->unchanged());
  bytes_read_ += reader.consumed();
  const std::uint32_t slot = table_.add_copies(std::move(block), handles.size());
  for (Handle* handle : handles) handle->block = slot;
  return {};
}

}  // namespace forebay::engine
