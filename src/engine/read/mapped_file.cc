// SPDX-License-Identifier: Apache-2.0
#include "engine/read/mapped_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

namespace forebay::engine {

namespace {

constexpr std::size_t read_behind = 64;                           // bytes after the end that a kernel may read
constexpr std::size_t mapped_by_a_fault = std::size_t{64} << 10;  // bytes of cached pages that one fault maps

constexpr std::int64_t usual_max_mappings = 65530;

std::atomic<std::int64_t> mapped_files{0};

/// The mappings that the system allows a process; 0 when it does not say.
std::int64_t max_mappings() {
  std::int64_t max = 0;
  return std::ifstream{"/proc/sys/vm/max_map_count"} >> max ? max : 0;
}

/// The number of mapped files after which files are read as streams. A mapped file may take two mappings.
std::int64_t max_mapped() {
  static const std::int64_t max = max_mappings();
  return (max > 0 ? max : usual_max_mappings) / 4;
}

/// The error of `mmap`. ENOMEM also means that the process has too many mappings, so the message names that limit.
Error cannot_map(const io::File& file, int number) {
  const Error error = io::system_error("map", file.path(), number);
  const std::int64_t max = max_mappings();
  if (number != ENOMEM || max == 0) return error;
  return {error.code(), error.detail(),
          fmt::format("{}; the system allows a process {} mappings (vm.max_map_count), of which every file that is "
                      "reached by its index takes one, and as much address space as `ulimit -v` says: raise them, or "
                      "use fewer and larger files",
                      error.message(), max),
          error.place()};
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::map(const io::File& file) {
  const auto page = static_cast<std::size_t>(getpagesize());
  const auto size = static_cast<std::size_t>(file.size());
  if (size == 0) return cannot_map(file, EINVAL);
  // One more anonymous page when `read_behind` bytes after the end do not fit in the last page.
  const std::size_t mapped = (size + page - 1) / page * page;
  const std::size_t reserved = (size + read_behind + page - 1) / page * page;
  if (mapped == reserved) {
    void* const base = mmap(nullptr, mapped, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (base == MAP_FAILED) return cannot_map(file, errno);
    return std::make_unique<MappedFile>(Token{}, static_cast<std::byte*>(base), reserved, file.identity());
  }
  void* const base = mmap(nullptr, reserved, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return cannot_map(file, errno);
  if (mmap(base, mapped, PROT_READ, MAP_SHARED | MAP_FIXED, file.descriptor(), 0) == MAP_FAILED) {
    const int number = errno;
    munmap(base, reserved);
    return cannot_map(file, number);
  }
  return std::make_unique<MappedFile>(Token{}, static_cast<std::byte*>(base), reserved, file.identity());
}

MappedFile::MappedFile(Token, std::byte* data, std::size_t reserved, const io::File::Identity& identity)
    : data_{data},
      size_{static_cast<std::size_t>(identity.size)},
      reserved_{reserved},
      identity_{identity},
      guard_{guard_range(data, reserved)} {
  mapped_files.fetch_add(1, std::memory_order_relaxed);
}

MappedFile::~MappedFile() {
  unguard_range(guard_);
  munmap(data_, reserved_);
  mapped_files.fetch_sub(1, std::memory_order_relaxed);
}

bool MappedFile::too_many() { return mapped_files.load(std::memory_order_relaxed) >= max_mapped(); }

std::int64_t MappedFile::max_cached() { return max_mapped() / 2; }

bool MappedFile::corrupt() const { return range_corrupt(guard_); }

std::string MappedFile::change(const std::string& path) const {
  const auto now = io::File::identity_at(path);
  if (now.ok() && now->same_file(identity_) && *now != identity_) return io::difference(identity_, *now);
  return corrupt() ? "it was cut short" : "";
}

void MappedFile::will_need(std::size_t offset, std::size_t length) {
  if (offset >= size_) return;
  const auto page = static_cast<std::size_t>(getpagesize());
  const std::size_t begin = offset / page * page;
  madvise(data_ + begin, std::min(length, size_ - begin), MADV_WILLNEED);
}

std::size_t MappedFile::copy(std::span<std::byte> out, std::int64_t offset) {
  const auto begin = std::min(static_cast<std::size_t>(offset), size_);
  const std::size_t count = std::min(out.size(), size_ - begin);
  std::memcpy(out.data(), data_ + begin, count);
  const std::size_t first = begin - std::min(begin, mapped_by_a_fault);
  forget(first, std::min(begin + count + mapped_by_a_fault, size_) - first);
  return count;
}

void MappedFile::forget(std::size_t offset, std::size_t length) {
  const auto page = static_cast<std::size_t>(getpagesize());
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + length) / page * page;
  if (begin < end) madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace forebay::engine
