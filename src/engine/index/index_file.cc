// SPDX-License-Identifier: Apache-2.0
#include "engine/index/index_file.h"

#include <fmt/core.h>

#include "engine/index/index_place.h"
#include "engine/memory/machine.h"
#include "engine/read/index_layout.h"
#include "sources/detect.h"

namespace forebay::engine {
namespace {

/// The facts about the data file that a good index must agree with.
struct Wanted {
  io::FileIdentity identity;
  Compression compression = Compression::none;
  std::string_view signature;
};

Result<Wanted> wanted_of(const IndexRequest& request) {
  FOREBAY_TRY(const io::File file, io::File::open(request.file));
  FOREBAY_TRY(io::FileIdentity identity, io::identify(file));
  FOREBAY_TRY(const Compression compression, sources::compression_of(file, request.compression, *request.format));
  return Wanted{.identity = identity, .compression = compression, .signature = request.signature};
}

/// Reads the bytes of an index. Reads only the head when its size is not that of the file. Fails when the index is
/// larger than half of the memory.
Result<std::vector<std::byte>> read_image(const io::File& file) {
  StoredHead head;
  FOREBAY_TRY(const std::size_t got, file.read(std::as_writable_bytes(std::span{&head, 1}), 0));
  const auto size = static_cast<std::size_t>(file.size());
  if (got < sizeof(head) || head.magic != index_magic || head.total != size) {
    // A newer version may store its size in another place. The head is enough to refuse the index.
    const auto begin = std::as_bytes(std::span{&head, 1}).first(got);
    return std::vector<std::byte>{begin.begin(), begin.end()};
  }
  if (file.size() > usable_memory() / 2) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("the index has {} bytes, more than half of the memory", size)};
  }
  std::vector<std::byte> image(size);
  FOREBAY_TRY(const std::size_t read, file.read(image, 0));
  image.resize(read);
  return image;
}

std::string disagreement(const RecordIndex& index, const Wanted& wanted) {
  if (std::string change = difference(index.identity(), wanted.identity); !change.empty()) {
    return "the file has changed: " + change;
  }
  if (index.compression() != wanted.compression) return "it was made for another compression";
  if (index.signature() != wanted.signature) {
    return fmt::format("it was made for the format '{}', not '{}'", index.signature(), wanted.signature);
  }
  return {};
}

StoredIndex load_from(const IndexPlace& place, const Wanted& wanted) {
  if (place.path.empty()) return {};
  auto file = io::File::open(place.path, place.links);
  if (!file.ok()) {
    if (file.error().detail() == Detail::not_found) return {};
    return {.state = IndexState::corrupt, .path = place.path, .reason = file.error().message()};
  }
  auto image = read_image(*file);
  auto index = image.ok() ? RecordIndex::parse(*std::move(image)) : image.error();
  if (!index.ok()) {
    const bool newer = index.error().detail() == Detail::failed_precondition;
    return {.state = newer ? IndexState::newer : IndexState::corrupt,
            .path = place.path,
            .reason = index.error().message()};
  }
  std::string reason = disagreement(**index, wanted);
  if (!reason.empty()) return {.state = IndexState::stale, .path = place.path, .reason = std::move(reason)};
  return {.state = IndexState::good, .index = *std::move(index), .path = place.path};
}

}  // namespace

Result<StoredIndex> load_index(const IndexRequest& request) {
  FOREBAY_TRY(const Wanted wanted, wanted_of(request));
  StoredIndex first = load_from(beside(request.file), wanted);
  if (first.state == IndexState::good) return first;
  StoredIndex second = load_from(in_cache(request.file), wanted);
  if (second.state == IndexState::good || first.state == IndexState::absent) return second;
  return first;
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
  auto stored = store_index(request.file, out.index->image());
  if (stored.ok()) {
    out.path = *std::move(stored);
  } else {
    out.not_stored = stored.error();
  }
  return out;
}

}  // namespace forebay::engine
