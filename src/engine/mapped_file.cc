// SPDX-License-Identifier: Apache-2.0
#include "engine/mapped_file.h"

#include <algorithm>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/bus_guard.h"

namespace forebay::engine {

std::unique_ptr<MappedFile> MappedFile::map(const io::File& file) {
  const auto page = static_cast<std::size_t>(getpagesize());
  const auto size = static_cast<std::size_t>(file.size());
  if (size == 0) return nullptr;
  // One anonymous page more than the file needs: what a kernel reads behind the end is there.
  const std::size_t mapped = (size + page - 1) / page * page;
  const std::size_t reserved = mapped + page;
  void* const base = mmap(nullptr, reserved, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  auto* const data = static_cast<std::byte*>(base);
  if (mmap(base, size, PROT_READ, MAP_SHARED | MAP_FIXED, file.descriptor(), 0) == MAP_FAILED) {
    munmap(base, reserved);
    return nullptr;
  }
  const int guard = guard_range(data, mapped);
  if (guard < 0) {
    munmap(base, reserved);
    return nullptr;
  }
  return std::make_unique<MappedFile>(Token{}, data, size, reserved, guard, identity_of(file));
}

MappedFile::~MappedFile() {
  unguard_range(guard_);
  munmap(data_, reserved_);
}

bool MappedFile::damaged() const { return range_damaged(guard_); }

void MappedFile::will_need(std::size_t offset, std::size_t length) {
  if (offset >= size_) return;
  const auto page = static_cast<std::size_t>(getpagesize());
  const std::size_t begin = offset / page * page;
  madvise(data_ + begin, std::min(length, size_ - begin), MADV_WILLNEED);
}

MappedFile::Identity identity_of(const io::File& file) {
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0) return {};
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .changed_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

void MappedFile::forget(std::size_t offset, std::size_t length) {
  const auto page = static_cast<std::size_t>(getpagesize());
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + length) / page * page;
  if (begin < end) madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace forebay::engine
