// SPDX-License-Identifier: Apache-2.0
#include "engine/read/file_cache.h"

#include <algorithm>
#include <utility>

namespace forebay::engine {

namespace {

constexpr std::size_t at_once = StopCheck::interval;

}  // namespace

/// Returns the open file of the piece's mapping. Null when its path now names another version or no file, or when it
/// cannot be opened.
std::shared_ptr<const io::File> FileCache::find(const Wanted& piece) {
  const std::size_t at = piece.file % max_open;
  {
    const Lock lock{mutex_};
    const Kept& kept = kept_[at];
    if (kept.file && kept.number == piece.file && kept.file->identity() == piece.mapping->identity()) return kept.file;
  }
  auto opened = io::File::open(paths_[piece.file]);
  if (!opened.ok() || opened->identity() != piece.mapping->identity()) return nullptr;
  auto file = std::make_shared<const io::File>(*std::move(opened));
  const Lock lock{mutex_};
  kept_[at] = {piece.file, file};
  return file;
}

Result<void> FileCache::read(std::span<Wanted> wanted) {
  std::shared_ptr<const io::File> file;
  const MappedFile* mapping = nullptr;
  const auto open = [&](const Wanted& piece) {
    if (std::exchange(mapping, piece.mapping) != piece.mapping) file = find(piece);
  };
  bool all = true;
  for (Wanted& piece : wanted) {
    open(piece);
    piece.got = file ? file->read_cached(piece.out.first(std::min(piece.out.size(), at_once)), piece.offset) : 0;
    if (piece.got == piece.out.size()) continue;
    all = false;
    if (file) file->will_need(piece.offset, piece.out.size());
  }
  for (std::size_t i = 0; !all && i < wanted.size(); ++i) {
    Wanted& piece = wanted[i];
    if (piece.got == piece.out.size()) continue;
    open(piece);
    FOREBAY_DO(read_rest(file.get(), piece).at(Place{.row = static_cast<std::int64_t>(i)}));
  }
  return {};
}

/// Reads the bytes that are missing, from the mapping when `file` is null.
Result<void> FileCache::read_rest(const io::File* file, Wanted& piece) const {
  while (piece.got < piece.out.size()) {
    const auto out = piece.out.subspan(piece.got, std::min(piece.out.size() - piece.got, at_once));
    const std::int64_t offset = piece.offset + static_cast<std::int64_t>(piece.got);
    if (piece.out.size() > at_once) check_.look();
    std::size_t got = 0;
    if (file != nullptr) {
      FOREBAY_TRY(got, file->read(out, offset));
    } else {
      got = piece.mapping->copy(out, offset);
    }
    piece.got += got;
    if (got < out.size()) break;
  }
  if (file == nullptr && piece.mapping->corrupt()) piece.got = 0;  // the file was cut short: the bytes may be zeros
  return {};
}

}  // namespace forebay::engine
