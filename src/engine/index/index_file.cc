// SPDX-License-Identifier: Apache-2.0
#include "engine/index/index_file.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "engine/memory/machine.h"
#include "engine/read/index_layout.h"
#include "engine/requests/open_file.h"
#include "sources/detect.h"
#include "stores/registry.h"

namespace forebay::engine {
namespace {

/// The facts about the data file that a good index must agree with.
struct Wanted {
  io::FileIdentity identity;
  std::optional<Compression> compression;  // empty: any
  std::string_view signature;
};

/// A file of another machine is asked for as little as possible: an index of this version was made with the compression
/// that the file has.
Result<Wanted> wanted_of_requested(const IndexRequest& request) {
  Wanted out{.identity = request.identity.value_or(io::FileIdentity{}), .signature = request.signature};
  if (request.compression != Compression::automatic) out.compression = request.compression;
  if (request.identity) return out;
  FOREBAY_TRY(const auto file, open_file(request.file));
  FOREBAY_TRY(out.identity, io::identify(*file));
  return out;
}

Result<Wanted> wanted_of(const IndexRequest& request) {
  if (stores::file_system_of(request.file) != nullptr) return wanted_of_requested(request);
  FOREBAY_TRY(const io::File file, io::File::open(request.file));
  FOREBAY_TRY(io::FileIdentity identity, io::identify(file));
  FOREBAY_TRY(const Compression compression, sources::compression_of(file, request.compression, *request.format));
  return Wanted{.identity = identity, .compression = compression, .signature = request.signature};
}

/// Copies the image of an index out of a store. An image of another version is cut after the head, which is enough to
/// refuse it. Fails when the index is larger than half of the memory.
Result<std::vector<std::byte>> read_image(std::span<const std::byte> stored) {
  StoredHead head;
  std::size_t size = stored.size();
  if (size >= sizeof(head)) std::memcpy(&head, stored.data(), sizeof(head));
  if (size >= sizeof(head) && head.version != index_version) size = sizeof(head);
  if (static_cast<std::int64_t>(size) > usable_memory() / 2) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("the index has {} bytes, more than half of the memory", size)};
  }
  return std::vector<std::byte>{stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::string disagreement(const RecordIndex& index, const Wanted& wanted) {
  if (std::string change = difference(index.identity(), wanted.identity); !change.empty()) {
    return "the file has changed: " + change;
  }
  if (wanted.compression && index.compression() != *wanted.compression) return "it was made for another compression";
  if (index.signature() != wanted.signature) {
    return fmt::format("it was made for the format '{}', not '{}'", index.signature(), wanted.signature);
  }
  return {};
}

/// The index of an entry, if it is good.
StoredIndex load_entry(const FoundEntry& entry, const Wanted& wanted) {
  auto image = read_image(entry.payload);
  auto index = image.ok() ? RecordIndex::parse(*std::move(image)) : image.error();
  if (!index.ok()) {
    const bool newer = index.error().detail() == Detail::failed_precondition;
    return {.state = newer ? IndexState::newer : IndexState::corrupt, .reason = index.error().message()};
  }
  std::string reason = disagreement(**index, wanted);
  if (!reason.empty()) return {.state = IndexState::stale, .reason = std::move(reason)};
  return {.state = IndexState::good, .index = *std::move(index)};
}

/// The index in one place: the last entry that is intact. Without one, the state of the last entry.
StoredIndex load_from(IndexStores& stores, const StorePlace& place, const IndexRequest& request, const Wanted& wanted,
                      bool anew) {
  std::string fault;
  const auto entries = stores.find(place, request.file, {StoredKind::records, request.made_by}, anew, fault);
  StoredIndex out;
  if (!fault.empty()) out = {.state = IndexState::corrupt, .reason = std::move(fault)};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    StoredIndex one = load_entry(entries[i], wanted);
    if (i == 0 || one.state == IndexState::good) out = std::move(one);
    if (out.state != IndexState::corrupt) break;
  }
  if (out.state != IndexState::absent) out.path = place.path;
  return out;
}

}  // namespace

std::shared_ptr<IndexStores> stores_of(const IndexRequest& request) {
  return request.stores ? request.stores : std::make_shared<IndexStores>();
}

std::optional<IndexFacts> peek_index(const IndexRequest& request) {
  const auto stores = stores_of(request);
  for (const StorePlace& place : stores->places(request.file)) {
    std::string fault;
    for (const FoundEntry& entry :
         stores->find(place, request.file, {StoredKind::records, request.made_by}, false, fault)) {
      StoredHead head;
      if (entry.payload.size() < sizeof(head)) continue;
      std::memcpy(&head, entry.payload.data(), sizeof(head));
      if (head.magic != index_magic || head.version != index_version) continue;
      return IndexFacts{.records = static_cast<std::int64_t>(std::min<std::uint64_t>(head.records, INT64_MAX)),
                        .bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(head.bytes, INT64_MAX)),
                        .compression = static_cast<Compression>(head.compression)};
    }
  }
  return std::nullopt;
}

Result<StoredIndex> load_index(const IndexRequest& request) {
  FOREBAY_TRY(const Wanted wanted, wanted_of(request));
  const auto stores = stores_of(request);
  StoredIndex out;
  for (const StorePlace& place : stores->places(request.file)) {
    StoredIndex one = load_from(*stores, place, request, wanted, false);
    if (one.state != IndexState::good && one.state != IndexState::absent)
      one = load_from(*stores, place, request, wanted, true);  // another process may have mended it
    if (one.state == IndexState::good) return one;
    if (out.state == IndexState::absent) out = std::move(one);
  }
  return out;
}

Result<IndexOutcome> load_or_build(const IndexRequest& request, const IndexWatch& watch,
                                   IndexOptions::Existing existing) {
  IndexOutcome out;
  FOREBAY_TRY(out.found, load_index(request));
  if (out.found.state == IndexState::good && existing != IndexOptions::Existing::replace) {
    out.index = out.found.index;
    out.path = out.found.path;
    return out;
  }
  FOREBAY_TRY(out.index, build_index(request, watch));
  out.built = true;
  if (out.found.state == IndexState::newer && existing != IndexOptions::Existing::replace) {
    out.not_stored = Error{Code::data, Detail::failed_precondition, out.found.reason, Place{.file = out.found.path}};
    return out;
  }
  const NewEntry entry{
      .key = {StoredKind::records, request.made_by}, .identity = out.index->identity(), .payload = out.index->image()};
  auto stored = stores_of(request)->append(request.file, {&entry, 1});
  if (stored.ok()) {
    out.path = *std::move(stored);
  } else {
    out.not_stored = stored.error();
  }
  return out;
}

}  // namespace forebay::engine
