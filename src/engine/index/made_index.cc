// SPDX-License-Identifier: Apache-2.0
#include "engine/index/made_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "base/draw.h"
#include "columns/crc32c.h"

namespace forebay::engine {
namespace {

/// The stored form of a skip; the message and the feature follow.
struct StoredSkip {
  std::uint64_t index = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t record = -1;     ///< Of the error's place.
  std::int64_t at_offset = -1;  ///< Of the error's place.
  std::uint32_t message = 0;
  std::uint32_t feature = 0;
  std::uint8_t what = 0;
  std::uint8_t code = 0;
  std::uint8_t detail = 0;
  std::array<std::uint8_t, 5> zero{};
};
static_assert(sizeof(StoredSkip) == 56);

std::vector<std::byte> image_of(const std::vector<Skip>& skips) {
  std::vector<std::byte> out;
  const auto append = [&](const void* from, std::size_t size) {
    const auto* const bytes = static_cast<const std::byte*>(from);
    out.insert(out.end(), bytes, bytes + size);
  };
  for (const Skip& skip : skips) {
    const Place& place = skip.error.place();
    const StoredSkip stored{.index = skip.index,
                            .offset = skip.offset,
                            .bytes = skip.bytes,
                            .record = place.record,
                            .at_offset = place.offset,
                            .message = static_cast<std::uint32_t>(skip.error.message().size()),
                            .feature = static_cast<std::uint32_t>(place.feature.size()),
                            .what = static_cast<std::uint8_t>(skip.what),
                            .code = static_cast<std::uint8_t>(skip.error.code()),
                            .detail = static_cast<std::uint8_t>(skip.error.detail())};
    append(&stored, sizeof(stored));
    append(skip.error.message().data(), stored.message);
    append(place.feature.data(), stored.feature);
  }
  return out;
}

/// Takes the first bytes off; empty when there are fewer.
std::optional<std::string> take_text(std::span<const std::byte>& rest, std::size_t size) {
  if (size > rest.size()) return std::nullopt;
  std::string out(reinterpret_cast<const char*>(rest.data()), size);
  rest = rest.subspan(size);
  return out;
}

/// The skips of an image; empty when it is no image, when they are not in the order of the file, or when they have more
/// than `max_bytes` bytes.
std::optional<std::vector<Skip>> parse_skips(std::span<const std::byte> rest, const std::string& file,
                                             std::int64_t max_bytes) {
  std::vector<Skip> out;
  while (!rest.empty()) {
    StoredSkip stored;
    if (rest.size() < sizeof(stored)) return std::nullopt;
    std::memcpy(&stored, rest.data(), sizeof(stored));
    rest = rest.subspan(sizeof(stored));
    const auto message = take_text(rest, stored.message);
    const auto feature = message ? take_text(rest, stored.feature) : std::nullopt;
    if (!feature || stored.what > static_cast<std::uint8_t>(Skip::What::file) || stored.bytes < 0 ||
        stored.bytes > max_bytes || (!out.empty() && stored.offset < out.back().offset) ||
        stored.code > static_cast<std::uint8_t>(Code::internal) ||
        stored.detail > static_cast<std::uint8_t>(Detail::failed_precondition))
      return std::nullopt;
    max_bytes -= stored.bytes;
    out.push_back({.what = static_cast<Skip::What>(stored.what),
                   .index = stored.index,
                   .offset = stored.offset,
                   .bytes = stored.bytes,
                   .error = Error{
                       static_cast<Code>(stored.code), static_cast<Detail>(stored.detail), *message,
                       Place{.file = file, .record = stored.record, .offset = stored.at_offset, .feature = *feature}}});
  }
  return out;
}

bool may_skip(const Program& program) { return skips_early(program.on_corrupt); }

/// The key of an attribute. Where records may be skipped, the trial decode of all of them decides about the others.
std::uint64_t key_of(const Program& program, std::size_t attribute) {
  const std::uint64_t own = program.early.attributes[attribute].made_by;
  return may_skip(program) && own != 0 ? mix(program.early.checked_by ^ mix(own)) : own;
}

bool has_keys(const Program& program) {
  return (!may_skip(program) || program.early.checked_by != 0) &&
         std::ranges::all_of(program.early.attributes, [](const EarlyAttribute& one) { return one.made_by != 0; });
}

/// The last entry with that key in any place that is intact and of this version of the file.
std::optional<FoundEntry> intact_entry(IndexStores& stores, const std::string& file, const EntryKey& key,
                                       const io::FileIdentity& identity) {
  std::string fault;
  for (const StorePlace& place : stores.places(file)) {
    for (FoundEntry& entry : stores.find(place, file, key, false, fault)) {
      if (entry.identity == identity && columns::crc32c(entry.payload) == entry.crc) return std::move(entry);
    }
  }
  return std::nullopt;
}

}  // namespace

SkipPlaces places_of(const RecordIndex& index, std::span<const Skip> skips) {
  SkipPlaces out;
  for (const Skip& skip : skips) {
    out.before.push_back(index.records_before(skip.offset));
    if (skip.what == Skip::What::record) out.left_out.push_back(out.before.back() + std::ssize(out.left_out));
  }
  return out;
}

std::uint64_t index_key(const Program& program) { return may_skip(program) ? program.early.checked_by : 0; }

std::vector<EntryKey> stored_keys(const Program& program) {
  if (!has_keys(program)) return {};
  std::vector<EntryKey> out{{StoredKind::records, index_key(program)}};
  if (may_skip(program)) out.push_back({StoredKind::skips, index_key(program)});
  for (std::size_t i = 0; i < program.early.attributes.size(); ++i)
    out.push_back({StoredKind::attribute, key_of(program, i)});
  return out;
}

std::int64_t records_with(const MadeIndex& made, std::span<const std::size_t> attributes) {
  if (attributes.empty()) return made.index->records();
  std::int64_t out = 0;
  for (std::int64_t record = 0; record < made.index->records(); ++record) {
    const auto holds = [&](std::size_t attribute) { return made.attributes[attribute].at(record) != 0; };
    if (std::ranges::all_of(attributes, holds)) ++out;
  }
  return out;
}

std::optional<MadeIndex> load_made(const Program& program, const IndexRequest& request) {
  if (!has_keys(program)) return std::nullopt;
  IndexRequest own = request;
  own.stores = stores_of(request);
  own.made_by = index_key(program);
  const auto found = load_index(own);
  if (!found.ok() || !found->index) return std::nullopt;
  MadeIndex out{.index = found->index, .size = found->index->identity().size};
  if (may_skip(program)) {
    const auto entry = intact_entry(*own.stores, own.file, {StoredKind::skips, own.made_by}, out.index->identity());
    auto skips = entry ? parse_skips(entry->payload, own.file, out.index->bytes()) : std::nullopt;
    if (!skips) return std::nullopt;
    out.skips = *std::move(skips);
  }
  for (std::size_t i = 0; i < program.early.attributes.size(); ++i) {
    const auto entry =
        intact_entry(*own.stores, own.file, {StoredKind::attribute, key_of(program, i)}, out.index->identity());
    auto column = entry ? AttributeColumn::parse(entry->mapping, entry->payload) : std::nullopt;
    if (!column || column->size() != out.index->records()) return std::nullopt;
    out.attributes.push_back(*std::move(column));
  }
  return out;
}

Result<std::string> store_made(const Program& program, const IndexRequest& request, const MadeIndex& made) {
  if (!has_keys(program) || !made.index || made.index->identity() == io::FileIdentity{}) return std::string{};
  // The fault of a plug-in is no property of the file.
  if (std::ranges::any_of(made.skips, [](const Skip& skip) { return skip.error.code() == Code::internal; }))
    return std::string{};
  const io::FileIdentity& identity = made.index->identity();
  const auto stores = stores_of(request);
  const std::uint64_t records = index_key(program);
  IndexRequest own = request;
  own.stores = stores;
  own.made_by = records;
  std::vector<NewEntry> entries;
  FOREBAY_TRY(const StoredIndex before, load_index(own));
  if (before.state == IndexState::newer)
    return Error{Code::data, Detail::failed_precondition, before.reason, Place{.file = before.path}};
  if (!before.index) entries.push_back({{StoredKind::records, records}, identity, made.index->image()});
  const std::vector<std::byte> skips = image_of(made.skips);
  if (may_skip(program)) entries.push_back({{StoredKind::skips, records}, identity, skips});
  for (std::size_t i = 0; i < made.attributes.size(); ++i)
    entries.push_back({{StoredKind::attribute, key_of(program, i)}, identity, made.attributes[i].image()});
  return stores->append(request.file, entries);
}

}  // namespace forebay::engine
