// SPDX-License-Identifier: Apache-2.0
#include "engine/kept_files.h"

namespace forebay::engine {

KeptFiles::Mapped KeptFiles::map(std::uint32_t number, const io::File& file) {
  {
    const Lock lock{mutex_};
    if (number >= files_.size()) files_.resize(number + std::size_t{1});
    std::shared_ptr<MappedFile>& kept = files_[number];
    if (kept && kept->identity() == identity_of(file) && !kept->damaged())
      return {.file = kept, .kept = true, .fresh = false};
    if (kept) bytes_ -= static_cast<std::int64_t>(kept->bytes().size());
    kept.reset();
  }
  std::shared_ptr<MappedFile> mapped = MappedFile::map(file);
  if (!mapped) return {};
  const auto size = static_cast<std::int64_t>(mapped->bytes().size());
  const Lock lock{mutex_};
  const bool keep = !files_[number] && bytes_ + size <= limit_;
  if (keep) {
    files_[number] = mapped;
    bytes_ += size;
  }
  return {.file = std::move(mapped), .kept = keep, .fresh = true};
}

std::int64_t KeptFiles::bytes() const {
  const Lock lock{mutex_};
  return bytes_;
}

}  // namespace forebay::engine
