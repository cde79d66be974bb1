// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/part_in_files.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/read/file_versions.h"
#include "engine/requests/open_file.h"
#include "stores/registry.h"

namespace forebay::engine {

Result<std::shared_ptr<const RowBlock>> PartInFiles::open(const RowPart& part) {
  auto rows = part.map(*this);
  FOREBAY_DO(unchanged());  // the reason of an error, if there is one
  if (!rows.ok()) return rows.error();
  if (*rows == nullptr || (*rows)->rows != part.in_memory())
    return Error{Code::internal, Detail::invalid_argument, "the files gave another number of rows than was planned"};
  forget();
  std::erase_if(files_, [](const Mapped& mapped) { return mapped.file.use_count() == 1; });
  return rows;
}

Result<PartFiles::Bytes> PartInFiles::map(const std::string& path) {
  const auto known = std::ranges::find(files_, path, &Mapped::path);
  if (known != files_.end()) return Bytes{known->file->bytes(), known->file};
  if (FileSystem* const system = stores::file_system_of(path)) return fetch(*system, path);
  FOREBAY_TRY(const io::File file, io::File::open(path));
  FOREBAY_DO(settle(file, false));
  if (file.size() == 0) return Bytes{};
  if (MappedFile::too_many()) return copy(file);
  FOREBAY_TRY(std::shared_ptr<MappedFile> mapped, MappedFile::map(file));
  files_.push_back({path, mapped});
  return Bytes{mapped->bytes(), mapped};
}

/// A file that is read, because the process has mapped too many.
Result<PartFiles::Bytes> PartInFiles::copy(const io::File& file) {
  const auto size = static_cast<std::size_t>(file.size());
  FOREBAY_TRY(const std::shared_ptr<std::byte> bytes, memory(file.size()));
  for (std::size_t at = 0; at < size; at += StopCheck::interval) {
    look();
    const std::span<std::byte> piece{bytes.get() + at, std::min(StopCheck::interval, size - at)};
    FOREBAY_TRY(const std::size_t got, file.read(piece, static_cast<std::int64_t>(at)));
    if (got < piece.size()) break;
  }
  FOREBAY_DO(file.unchanged());
  return Bytes{{bytes.get(), size}, bytes};
}

/// All bytes of one version of a file of another machine, several ranges ahead of the one that is copied.
Result<PartFiles::Bytes> PartInFiles::fetch(FileSystem& system, const std::string& path) {
  FOREBAY_TRY(const auto file, open_requested(system, path, memory_.requests));
  const auto size = static_cast<std::size_t>(file->size());
  FOREBAY_TRY(const std::shared_ptr<std::byte> bytes, memory(file->size()));
  file->need();
  file->go_to(0);
  for (std::size_t at = 0; at < size;) {
    look();
    file->advance(static_cast<std::int64_t>(at));
    const std::span<std::byte> piece{bytes.get() + at, std::min(StopCheck::interval, size - at)};
    FOREBAY_TRY(const std::size_t got, file->read_some(piece, static_cast<std::int64_t>(at)));
    if (got == 0)
      return Error{Code::data, Detail::failed_precondition, "the file ends before its size", Place{.file = path}};
    at += got;
  }
  return Bytes{{bytes.get(), size}, bytes};
}

Result<std::shared_ptr<std::byte>> PartInFiles::memory(std::int64_t bytes) {
  struct Owner {
    std::shared_ptr<void> charge;
    std::unique_ptr<std::byte[]> memory;
  };
  const std::int64_t limit = memory_.pool->limit();
  if (bytes > limit / 2 - memory_.taken) {
    return Error{
        Code::data, Detail::resource_exhausted,
        fmt::format("arrays that are not mapped, because their files are compressed or of another machine, "
                    "take {} bytes with those before them, and may take half of the memory budget of {} bytes; "
                    "raise `memory`, or have them uncompressed on a local disk (numpy.save, numpy.savez)",
                    memory_.taken + bytes, limit)};
  }
  memory_.taken += bytes;
  const auto owner = std::make_shared<Owner>();
  owner->charge = memory_.pool->charge(bytes, MemoryUse::scan);
  owner->memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  return std::shared_ptr<std::byte>{owner, owner->memory.get()};
}

const std::string* PartInFiles::cut() const {
  const auto found = std::ranges::find_if(files_, [](const Mapped& mapped) { return mapped.file->corrupt(); });
  return found == files_.end() ? nullptr : &found->path;
}

Result<void> PartInFiles::unchanged() const {
  for (const auto& [path, file] : files_) {
    if (const std::string change = file->change(path); !change.empty())
      return Error{Code::data, Detail::failed_precondition,
                   fmt::format("the file changed while it was read ({})", change), Place{.file = path}};
  }
  return {};
}

void PartInFiles::forget() const {
  for (const auto& [path, file] : files_) file->forget(0, file->bytes().size());
}

std::int64_t PartInFiles::mapped_bytes() const {
  std::int64_t out = 0;
  for (const auto& [path, file] : files_) out += std::ssize(file->bytes());
  return out;
}

}  // namespace forebay::engine
