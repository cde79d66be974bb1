// SPDX-License-Identifier: Apache-2.0
#include "engine/index/published/file_ends.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "columns/crc32c.h"
#include "stores/registry.h"

namespace forebay::engine {

FileEnds FileEnds::of(std::span<const std::byte> head, std::span<const std::byte> tail) {
  return {.head = io::fnv1a(head), .tail = io::fnv1a(tail)};
}

std::optional<FileEnds> FileEnds::of(std::span<const StoreEntry> entries) {
  if (entries.empty()) return std::nullopt;
  const io::FileIdentity& identity = entries.front().identity;
  if (!identity.is_version()) return FileEnds{.head = identity.head, .tail = identity.tail};
  const auto found = std::ranges::find(entries, EntryKey{StoredKind::ends, 0}, &StoreEntry::key);
  FileEnds out;
  if (found == entries.end() || found->payload.size() != sizeof(out) || columns::crc32c(found->payload) != found->crc)
    return std::nullopt;
  std::memcpy(&out, found->payload.data(), sizeof(out));
  return out;
}

std::vector<std::byte> FileEnds::image() const {
  std::vector<std::byte> out(sizeof(*this));
  std::memcpy(out.data(), this, sizeof(*this));
  return out;
}

AskedEnds::AskedEnds(Requests& requests, std::string file, const io::FileIdentity& version) : file_{std::move(file)} {
  const std::int64_t bytes = std::min(version.size, io::FileIdentity::end_bytes);
  if (bytes == 0) return;
  const auto target =
      std::make_shared<const RequestTarget>(RequestTarget{.system = stores::file_system_of(file_),
                                                          .path = file_,
                                                          .version = {.size = version.size, .version = version.head}});
  head_ = requests.ask(target, {.offset = 0, .bytes = bytes});
  tail_ = requests.ask(target, {.offset = version.size - bytes, .bytes = bytes});
}

Result<FileEnds> AskedEnds::wait(Requests& requests) const {
  if (!head_) return FileEnds::of({}, {});
  requests.wait(*head_);
  requests.wait(*tail_);
  if (const auto& error = head_->error() ? head_->error() : tail_->error()) return error->at(Place{.file = file_});
  return FileEnds::of(head_->bytes(), tail_->bytes());
}

}  // namespace forebay::engine
