// SPDX-License-Identifier: Apache-2.0
#include "engine/read/pass_cache.h"

namespace forebay::engine {

PassCache::Kept& PassCache::at(std::uint32_t number) {
  if (number >= files_.size()) files_.resize(number + std::size_t{1});
  return files_[number];
}

PassCache::Mapped PassCache::map(std::uint32_t number, const io::File& file) {
  {
    const Lock lock{mutex_};
    Kept& kept = at(number);
    if (kept.file && kept.file->identity() == file.identity() && !kept.file->corrupt())
      return {.file = kept.file, .error = {}, .kept = true, .fresh = false, .frames = kept.frames};
    forget(kept);
  }
  auto done = MappedFile::map(file);
  if (!done.ok()) return {.error = done.error()};
  std::shared_ptr<MappedFile> mapped = *std::move(done);
  const auto size = static_cast<std::int64_t>(mapped->bytes().size());
  const Lock lock{mutex_};
  Kept& kept = files_[number];
  const bool keep = !kept.file && bytes_ + size <= limit_ && mappings_ < MappedFile::max_cached();
  if (keep) {
    kept.file = mapped;
    ++mappings_;
    bytes_ += size;
  }
  return {.file = std::move(mapped), .error = {}, .kept = keep};
}

void PassCache::keep(std::uint32_t number, const MappedFile& file, Frames frames) {
  const Lock lock{mutex_};
  Kept& kept = files_[number];
  if (kept.file.get() != &file || kept.frames || bytes_ + frames.bytes() > limit_) return;
  bytes_ += frames.bytes();
  kept.frames = std::make_shared<const Frames>(std::move(frames));
}

std::shared_ptr<const Content> PassCache::content(std::uint32_t number, const io::RandomAccessFile& file) {
  const Lock lock{mutex_};
  Kept& kept = at(number);
  if (kept.content && kept.identity != file.identity()) kept.content.reset();
  return kept.content;
}

std::shared_ptr<void> PassCache::claim(std::int64_t bytes) {
  {
    const Lock lock{mutex_};
    if (!passes_ || !contents_) return nullptr;
  }
  if (content_bytes_->fetch_add(bytes) + bytes > limit_ / 2) {
    content_bytes_->fetch_sub(bytes);
    return nullptr;
  }
  return {this, [bytes, all = content_bytes_](void*) { all->fetch_sub(bytes); }};
}

void PassCache::keep(std::uint32_t number, const io::File::Identity& identity, Content content) {
  auto kept_content = std::make_shared<const Content>(std::move(content));
  const Lock lock{mutex_};
  Kept& kept = at(number);
  if (!contents_ || kept.content) return;
  kept.content = std::move(kept_content);
  kept.identity = identity;
}

void PassCache::drop_contents() {
  std::vector<std::shared_ptr<const Content>> dropped;
  const Lock lock{mutex_};
  if (!contents_) return;
  contents_ = false;
  for (Kept& kept : files_) dropped.push_back(std::move(kept.content));
}

bool PassCache::keeps_content() const {
  const Lock lock{mutex_};
  return contents_ && content_bytes_->load() > 0;
}

void PassCache::forget(Kept& kept) {
  if (kept.file) {
    bytes_ -= static_cast<std::int64_t>(kept.file->bytes().size());
    --mappings_;
  }
  if (kept.frames) bytes_ -= kept.frames->bytes();
  kept = {};
}

std::int64_t PassCache::bytes() const {
  const Lock lock{mutex_};
  return bytes_;
}

}  // namespace forebay::engine
