// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/cache/part_file.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/core.h>

#include "columns/crc32c.h"
#include "io/file.h"
#include "io/folder.h"

namespace forebay::engine {

namespace {

constexpr std::array<char, 8> magic{'F', 'B', 'P', 'A', 'R', 'T', 'S', '1'};
constexpr std::int64_t counts_at = 64;
constexpr std::int64_t entries_at = 4096;
constexpr std::int64_t page = 4096;
constexpr std::int64_t usual_slots = 1024;  // as many at least, until parts have the largest size
constexpr std::int64_t max_slots = std::int64_t{1} << 28;
constexpr int tries_to_lock = 100;  // the table is locked for microseconds, but while it is mended or listed

static_assert(std::is_trivially_copyable_v<PartEntry> && std::is_trivially_copyable_v<PartCounts>);
static_assert(counts_at + static_cast<std::int64_t>(sizeof(PartCounts)) <= entries_at);

bool read_all(int file, std::int64_t at, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = pread(file, out.data(), out.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
    at += got;
  }
  return true;
}

bool write_all(int file, std::int64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(file, bytes.data(), bytes.size(), at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    at += put;
  }
  return true;
}

/// Sets a lock of the open file on its first byte.
bool set_lock(int file, short kind) {
  struct flock lock = {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

Error refuse(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

/// Locks of one machine mean nothing to another.
bool is_shared_between_machines(int file) {
  struct statfs found = {};
  if (fstatfs(file, &found) != 0) return false;
  const auto kind = static_cast<std::uint64_t>(found.f_type);
  constexpr std::array<std::uint64_t, 5> kinds{NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0xff534d42U, 0xfe534d42U, 0x0bd00bd0U};
  return std::ranges::find(kinds, kind) != kinds.end();
}

Result<void> check_usable(int file, const std::string& path) {
  struct stat found = {};
  if (fstat(file, &found) != 0) return io::system_error("open", path, errno);
  if (!S_ISREG(found.st_mode)) return refuse(fmt::format("cache: '{}' is not a file; name another folder", path));
  if (found.st_uid != geteuid())
    return refuse(fmt::format("cache: '{}' belongs to another user; name a folder of your own", path));
  if (is_shared_between_machines(file))
    return refuse(fmt::format("cache: '{}' lies on a disk of another machine; name a folder on one of this", path));
  return {};
}

}  // namespace

PartFile::Shape PartFile::shape_of(std::int64_t bytes) {
  const auto wanted = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes / usual_slots)));
  const std::int64_t part = std::clamp(wanted, min_part, max_part);
  Shape out{.magic = magic,
            .part_bytes = static_cast<std::uint32_t>(part),
            .slots = static_cast<std::uint32_t>(std::min(bytes / part, max_slots)),
            .checksum = 0};
  out.checksum = columns::crc32c(std::as_bytes(std::span{&out, 1}).first(offsetof(Shape, checksum)));
  return out;
}

std::int64_t PartFile::buckets_at(const Shape& shape) {
  return entries_at + std::int64_t{shape.slots} * static_cast<std::int64_t>(sizeof(PartEntry));
}

std::int64_t PartFile::slots_at(const Shape& shape) {
  const std::int64_t end =
      buckets_at(shape) + std::int64_t{shape.slots} * static_cast<std::int64_t>(sizeof(std::uint32_t));
  return (end + page - 1) / page * page;
}

std::int64_t PartFile::slot_at(std::uint32_t slot) const {
  return slots_at(shape_) + std::int64_t{slot} * shape_.part_bytes;
}

/// Makes an empty file of the whole size. All of it is taken now, so that the disk cannot be full later.
Result<void> PartFile::make(int file, const std::string& path, const Shape& shape) {
  const std::int64_t table = slots_at(shape);
  const std::int64_t all = table + std::int64_t{shape.slots} * shape.part_bytes;
  if (ftruncate(file, 0) != 0) return io::system_error("write", path, errno);
  if (fallocate(file, 0, 0, all) != 0) {
    const int why = errno;
    if (why != EOPNOTSUPP) {
      if (ftruncate(file, 0) != 0) return io::system_error("write", path, errno);
      return io::system_error(fmt::format("take {} bytes for the cache", all), path, why);
    }
    if (ftruncate(file, all) != 0) return io::system_error("write", path, errno);
  }
  if (!write_all(file, 0, std::as_bytes(std::span{&shape, 1}))) return io::system_error("write", path, errno);
  return {};
}

/// Decides which shape the file has. A process that is alone with it may change it.
Result<PartFile::Shape> PartFile::agree(int file, const std::string& path, std::int64_t bytes, std::string& notice) {
  const Shape wanted = shape_of(bytes);
  const bool alone = flock(file, LOCK_EX | LOCK_NB) == 0;
  if (!alone && flock(file, LOCK_SH) != 0) return io::system_error("lock", path, errno);  // another process makes it
  Shape found = {};
  struct stat status = {};
  if (fstat(file, &status) != 0) return io::system_error("open", path, errno);
  const bool empty = status.st_size == 0;
  if (!empty && (!read_all(file, 0, std::as_writable_bytes(std::span{&found, 1})) || found.magic != magic))
    return refuse(fmt::format("cache: '{}' is not a cache of Forebay; remove it, or name another folder", path));
  const std::int64_t found_bytes = std::int64_t{found.part_bytes} * found.slots;
  const bool sound =
      !empty && found == shape_of(std::max(found_bytes, min_bytes)) && status.st_size == slots_at(found) + found_bytes;
  if (!alone && !sound)
    return refuse(
        fmt::format("cache: '{}' is corrupt, and another process uses it; end that, or name another folder", path));
  if (!alone) {
    if (found != wanted)
      notice = fmt::format("the cache in '{}' keeps its {} bytes, as another process uses it", path, found_bytes);
    return found;
  }
  if (!sound || found != wanted) {
    if (!empty)
      notice = sound ? fmt::format("the cache in '{}' is emptied: it had {} bytes", path, found_bytes)
                     : fmt::format("the cache in '{}' was corrupt, and is emptied", path);
    FOREBAY_DO(make(file, path, wanted));
  }
  if (flock(file, LOCK_SH) != 0) return io::system_error("lock", path, errno);
  return wanted;
}

Result<std::unique_ptr<PartFile>> PartFile::open(const std::string& folder, std::int64_t bytes, std::string& notice) {
  FOREBAY_DO(io::make_private_folder(folder));
  const std::string path = folder + "/parts-v1";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return io::system_error("open", path, errno);
  auto out = std::unique_ptr<PartFile>{};
  const auto open = [&]() -> Result<void> {
    FOREBAY_DO(check_usable(file, path));
    FOREBAY_TRY(const Shape shape, agree(file, path, bytes, notice));
    out = std::make_unique<PartFile>(file, shape);
    return {};
  };
  const auto opened = open();
  if (opened.ok()) return out;
  close(file);
  return opened.error();
}

PartFile::~PartFile() { close(file_); }

void PartFile::turn_off(std::string why) {
  if (fault_.empty()) fault_ = std::move(why);
}

template <class Value>
Value PartFile::get(std::int64_t at) {
  Value out = {};
  if (fault_.empty() && !read_all(file_, at, std::as_writable_bytes(std::span{&out, 1}))) {
    turn_off("its file was cut, or cannot be read");
    return {};
  }
  return out;
}

template <class Value>
void PartFile::set(std::int64_t at, const Value& value) {
  if (fault_.empty() && !write_all(file_, at, std::as_bytes(std::span{&value, 1})))
    turn_off("its file cannot be written");
}

bool PartFile::lock() {
  if (!fault_.empty()) return false;
  for (int tries = 0; tries < tries_to_lock; ++tries) {
    if (set_lock(file_, F_WRLCK)) return true;
  }
  return false;
}

void PartFile::unlock() { static_cast<void>(set_lock(file_, F_UNLCK)); }

PartCounts PartFile::counts() { return get<PartCounts>(counts_at); }

void PartFile::put(const PartCounts& counts) { set(counts_at, counts); }

PartEntry PartFile::entry(std::uint32_t slot) {
  return get<PartEntry>(entries_at + std::int64_t{slot} * static_cast<std::int64_t>(sizeof(PartEntry)));
}

void PartFile::put(std::uint32_t slot, const PartEntry& entry) {
  set(entries_at + std::int64_t{slot} * static_cast<std::int64_t>(sizeof(PartEntry)), entry);
}

std::uint32_t PartFile::bucket(std::uint32_t number) {
  return get<std::uint32_t>(buckets_at(shape_) +
                            std::int64_t{number} * static_cast<std::int64_t>(sizeof(std::uint32_t)));
}

void PartFile::put_bucket(std::uint32_t number, std::uint32_t first) {
  set(buckets_at(shape_) + std::int64_t{number} * static_cast<std::int64_t>(sizeof(std::uint32_t)), first);
}

bool PartFile::read(std::uint32_t slot, std::int64_t from, std::span<std::byte> out) const {
  return read_all(file_, slot_at(slot) + from, out);
}

bool PartFile::write(std::uint32_t slot, std::span<const std::byte> bytes) const {
  return write_all(file_, slot_at(slot), bytes);
}

}  // namespace forebay::engine
