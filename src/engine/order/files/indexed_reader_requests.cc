// SPDX-License-Identifier: Apache-2.0
// The functions of IndexedReader that say what is read together, and that ask files of a FileSystem for it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "base/draw.h"
#include "engine/order/files/indexed_reader.h"
#include "engine/order/files/own_rows.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t mapped_window = 512;                 // records
constexpr std::int64_t max_window = 1 << 18;                // records
constexpr std::int64_t kept_share = 4;                      // of the budget, for files that stay in memory
constexpr std::int64_t kept_range = std::int64_t{1} << 20;  // bytes of a request for them

// What a request costs in time and money. The price is the list price of large object stores.
constexpr double seconds_a_request = 0.05;
constexpr double requests_at_once = 32;
constexpr double dollars_a_request = 0.4e-6;

}  // namespace

bool leaves_rows(const Program& program) {
  const auto takes_more = [](const Ordering& order) { return !order.selects; };
  return !program.batching.make_sized || program.windows || !program.batch_orders.empty() ||
         std::ranges::any_of(program.record_orders, takes_more);
}

/// As many records as fit into an eighth of the budget, with those of the windows ahead, at least one.
std::int64_t IndexedReader::window() const {
  if (!fetches_) return mapped_window;
  std::int64_t bytes = 0;
  std::int64_t records = 1;
  for (const File& file : files_) {
    if (!file.index) continue;
    bytes += std::max(file.index->bytes(), std::min(file.index->payload_bytes(), INT64_MAX / 2 - bytes));
    records += file.index->records();
  }
  const std::int64_t share = pool_->limit() / 8 / (windows_ahead() + 1);
  return std::clamp<std::int64_t>(share / (bytes / records + 1), 1, max_window);
}

bool IndexedReader::stays(std::uint32_t number) const {
  const RecordIndex& index = *files_[number].index;
  if (stores::file_system_of(program_.source.files[number]) == nullptr || !reaches_by_number(program_)) return false;
  return index.compression() != Compression::none || index.payload_bytes() / min_own_request < index.records();
}

/// Whether the files that would stay in memory stay in the cache: memory has no room for them.
bool IndexedReader::stays_in_cache() const {
  const auto& cache = ranges_.requests().cache();
  return kept_bytes_ > pool_->limit() / kept_share && cache && kept_bytes_ <= cache->bytes();
}

/// Some files of a FileSystem stay in memory once they were fetched (`stays`). Fails when they are too large for that.
Result<void> IndexedReader::check_kept() const {
  const std::int64_t room = pool_->limit() / kept_share;
  if (kept_bytes_ <= room || stays_in_cache()) return {};
  double bytes = 0, records = 0;  // of those that are not compressed
  for (std::uint32_t number = 0; number < files_.size(); ++number) {
    const RecordIndex* const index = files_[number].index.get();
    if (index == nullptr || index->compression() != Compression::none || !stays(number)) continue;
    bytes += static_cast<double>(index->bytes());
    records += static_cast<double>(index->records());
  }
  const std::string advice = fmt::format(
      "fetched once and stay in memory, of which a quarter is for them: {} bytes. Raise `memory` to {}, shuffle a "
      "buffer instead (`shuffle` with `buffer`)",
      room, kept_bytes_ * kept_share);
  if (records == 0)
    return Error{Code::config, Detail::resource_exhausted,
                 fmt::format("the compressed files of another machine that are read in random order have {} bytes. "
                             "They are {}, or store the files without compression",
                             kept_bytes_, advice)};
  // Places of the records of a window are as good as random, so the gaps between them are distributed exponentially.
  // Pieces with small gaps between them are one request, which fetches the gaps, too.
  const double in_window = std::min(static_cast<double>(window()), records);
  const double windows = records / in_window;
  const double hole = RangeSets::max_hole;
  const double gap = bytes / in_window;
  const double far = std::exp(-hole / gap);
  const double fetched = bytes + windows * (in_window - 1) * (gap - far * (hole + gap));
  const double requests = windows * (1 + (in_window - 1) * far);
  return Error{
      Code::config, Detail::resource_exhausted,
      fmt::format(
          "the files of another machine that are read in random order have {} bytes, and records of about "
          "{:.0f} bytes, less than a request is worth. They are {}, keep them on a local disk (`cache`), or store "
          "several in one record, of {} bytes and more. Without that a pass would fetch {:.0f} bytes in {:.0f} "
          "requests, which is ${:.2f} "
          "where a million costs $0.40, and {:.1f} hours with {:.0f} at once",
          kept_bytes_, bytes / records, advice, min_own_request, fetched, requests, requests * dollars_a_request,
          requests * seconds_a_request / requests_at_once / 3600, requests_at_once)};
}

std::string IndexedReader::why_whole(std::uint32_t number) const {
  const bool local = stores::file_system_of(program_.source.files[number]) == nullptr;
  return local ? std::string{} : why_not_fetched_alone(*files_[number].index);
}

/// Whether `fetch` has to bring a record.
bool IndexedReader::absent(const Handle& handle, Of what) const {
  if (handle.block == BlockTable::nowhere || !table_.absent(handle.block)) return false;
  return what == Of::batch || !files_[table_[handle.block].file].alone;
}

bool IndexedReader::requested(const Handle& handle, Of what) const {
  return absent(handle, what) && stores::file_system_of(program_.source.files[table_[handle.block].file]) != nullptr;
}

std::int64_t IndexedReader::requested_bytes(std::span<const Handle> handles) const {
  std::int64_t out = 0;
  if (!requested_) return out;
  for (const Handle& handle : handles)
    if (requested(handle, Of::batch)) out += handle.length;
  return out;
}

Result<void> IndexedReader::find_published(const std::function<bool()>& go_on) {
  std::vector<std::uint32_t> all(program_.source.files.size());
  std::iota(all.begin(), all.end(), 0U);
  static_cast<void>(
      requests_with_published(program_, all, {.pool = pool_, .threads = threads_, .stores = stores_}, go_on));
  if (!go_on()) return Error{Code::cancelled, "interrupted"};
  return {};
}

/// Asks for the version of a file. False: it has not come. Fails when it is not the one that the index was made of.
Result<bool> IndexedReader::find_target(std::uint32_t number) {
  File& file = files_[number];
  if (file.target) return true;
  const std::string& path = program_.source.files[number];
  FileSystem& system = *stores::file_system_of(path);
  if (!file.version) file.version = ranges_.requests().find(system, path);
  if (!file.version->ready()) return false;
  if (file.version->error()) return file.version->error()->at(Place{.file = path});
  const auto& now = file.version->version();
  const io::FileIdentity& then = file.index->identity();
  FOREBAY_DO(versions_.opened(number, now));
  // A version that is not told is 0; then the identity has hashes of both ends, and the size is what can be compared.
  if (now.version == 0 ? now.size != then.size : io::identity_of(now) != then) {
    return Error{Code::data, Detail::failed_precondition, "the file changed after its index was made",
                 Place{.file = path}};
  }
  file.target = std::make_shared<const RequestTarget>(
      RequestTarget{.system = &system, .path = path, .version = now, .file = number, .keeping = Keeping::by_index});
  return true;
}

/// False: the versions of some files have not come. All of them are asked for.
Result<bool> IndexedReader::find_targets(std::span<const Handle> handles, Of what) {
  FOREBAY_DO(check_kept());
  bool all = true;
  for (const Handle& handle : handles) {
    if (!requested(handle, what)) continue;
    FOREBAY_TRY(const bool found, find_target(table_[handle.block].file));
    all = all && found;
  }
  return all;
}

/// The pieces of a file that a record needs.
void IndexedReader::add_pieces(const Handle& handle, std::vector<RangeSets::Piece>& out) const {
  const Block& segment = table_[handle.block];
  const RecordIndex& index = *files_[segment.file].index;
  const auto& target = files_[segment.file].target;
  const std::int64_t begin = segment.file_offset + handle.offset;
  const std::int64_t end = std::min(index.bytes(), begin + handle.length + static_cast<std::int64_t>(trailer_));
  if (index.compression() == Compression::none && stays(segment.file) && !stays_in_cache()) {
    for (std::int64_t at = begin - begin % kept_range; at < end; at += kept_range) {
      const std::int64_t size = target->version.size - at;
      out.push_back({.file = segment.file,
                     .target = target,
                     .range = {.offset = at, .bytes = std::min(kept_range, size)},
                     .keep = true});
    }
    return;
  }
  if (index.compression() == Compression::none) {
    out.push_back({.file = segment.file, .target = target, .range = {.offset = begin, .bytes = end - begin}});
    return;
  }
  for (const io::ByteRange range : index.compressed_pieces(begin, end > begin ? index.chunk_at(end - 1).end : begin))
    out.push_back({.file = segment.file, .target = target, .range = range, .keep = true});
}

RangeSets::Key IndexedReader::key_of(std::span<const Handle> handles) const {
  RangeSets::Key out{.count = handles.size()};
  for (const Handle& handle : handles) {
    const bool has = handle.block != BlockTable::nowhere;  // the block of a record changes when it is copied
    const std::uint64_t file = has ? table_[handle.block].file : UINT32_MAX;
    out.hash = mix(out.hash ^ mix(file << 32U | handle.ordinal));
  }
  return out;
}

/// When a run reads the records of each part again. Null where more than their numbers decides.
std::unique_ptr<RecordTimes> IndexedReader::record_times() const {
  const bool by_number = program_.interleave.place && !acts_in_parts(program_) && program_.file_orders.empty() &&
                         program_.files_a_pass == 0 && program_.early.selecting == 0;
  if (!by_number || std::ranges::any_of(files_, [](const File& file) { return file.index == nullptr; })) return nullptr;
  std::vector<std::int64_t> first;
  std::int64_t count = 0;
  for (const File& file : files_) {
    first.push_back(count);
    count += file.index->records();
  }
  const auto place = [this, count](std::int64_t pass, std::int64_t number) {
    const std::uint64_t purpose = program_.file_orders.size() + 1;
    return program_.interleave.place({.seed = program_.seed, .purpose = purpose, .epoch = pass, .elements = count},
                                     number);
  };
  const auto records = [this](std::uint32_t file, io::ByteRange range) -> std::pair<std::int64_t, std::int64_t> {
    const RecordIndex& index = *files_[file].index;
    if (index.compression() != Compression::none) return {0, index.records()};
    return {std::max<std::int64_t>(0, index.records_before(range.offset + 1) - 1), index.records_before(range.end())};
  };
  return std::make_unique<RecordTimes>(place, records, std::move(first), count);
}

/// Tells the cache which records the run has come to.
void IndexedReader::tell_cache(std::span<const Handle> handles) const {
  const auto& cache = ranges_.requests().cache();
  if (!cache) return;
  if (!cache->knows_records()) cache->read_by(record_times());
  if (!cache->knows_records()) return;
  std::vector<RecordName> names;
  for (const Handle& handle : handles)
    if (handle.block != BlockTable::nowhere) names.push_back({table_[handle.block].file, handle.ordinal});
  cache->reach(names);
}

RangeSets::Set& IndexedReader::ask(std::span<const Handle> handles, Of what) {
  tell_cache(handles);
  std::vector<RangeSets::Piece> pieces;
  for (const Handle& handle : handles) {
    if (requested(handle, what)) add_pieces(handle, pieces);
  }
  return ranges_.add(key_of(handles), std::move(pieces));
}

Result<bool> IndexedReader::expect(std::span<const Handle> handles, Of what) {
  if (!requested_ || handles.empty()) return true;
  if (what == Of::window && ranges_.find(key_of(handles)) != nullptr) return true;
  if (std::ranges::none_of(handles, [&](const Handle& handle) { return requested(handle, what); })) return true;
  const auto found = find_targets(handles, what);
  if (!found.ok()) return true;  // `fetch` fails with it, in its turn
  if (*found) ask(handles, what);
  return *found;
}

/// The ranges of these handles: asked for, if they were not. Null: they have not come.
Result<RangeSets::Set*> IndexedReader::bring(std::span<const Handle> handles, Of what) {
  RangeSets::Set* set = ranges_.find(key_of(handles));
  if (set == nullptr) {
    FOREBAY_TRY(const bool found, find_targets(handles, what));
    if (!found) return nullptr;
    set = &ask(handles, what);
  }
  return set->all_ready() ? set : nullptr;
}

Result<bool> IndexedReader::fetch(std::span<Handle> handles, Of what, const std::function<bool()>& go_on) {
  if (!fetches_) return true;
  std::vector<Handle*> missing;
  for (Handle& handle : handles) {
    if (absent(handle, what)) missing.push_back(&handle);
  }
  if (missing.empty()) {  // an earlier batch has brought them
    RangeSets::Set* const asked = requested_ ? ranges_.find(key_of(handles)) : nullptr;
    if (asked != nullptr) ranges_.drop_to(*asked);
    return true;
  }
  FOREBAY_DO(check_room(missing));
  RangeSets::Set* set = nullptr;
  if (requested_) {
    FOREBAY_TRY(set, bring(handles, what));
    if (set == nullptr) return false;
  }
  FOREBAY_DO(fetch_absent(missing, set, go_on));
  if (set != nullptr) ranges_.drop_to(*set);
  return true;
}

/// Reads a record of a file that is not compressed.
Result<void> IndexedReader::read_plain(const io::RandomAccessFile& file, std::int64_t offset,
                                       std::span<std::byte> out) {
  FOREBAY_TRY(const std::size_t got, file.read(out, offset));
  bytes_read_ += static_cast<std::int64_t>(got);
  if (got == out.size()) return {};
  return Error{Code::data, Detail::failed_precondition, "the file ends before a record that its index names",
               Place{.offset = offset}};
}

}  // namespace forebay::engine
