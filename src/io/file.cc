// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"
#include "io/regular.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace forebay::io {
namespace {

constexpr std::int64_t min_tick = 10'000'000;  // nanoseconds; the period of the slowest usual timer of Linux

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::int64_t clock_tick() {
  timespec resolution{};
  clock_getres(CLOCK_REALTIME_COARSE, &resolution);
  return std::max(nanoseconds(resolution), min_tick);
}

/// Whether a write after the times were read sets times that no earlier write has set.
bool has_fine_times(int descriptor) {
  static const bool kernel = [] {
    utsname name{};
    int first = 0;
    int second = 0;
    return uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &first, &second) == 2 &&
           std::pair{first, second} >= std::pair{6, 13};
  }();
  struct statfs system {};
  if (!kernel || ::fstatfs(descriptor, &system) != 0) return false;
  constexpr std::array<long, 4> fine{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC};
  return std::ranges::find(fine, static_cast<long>(system.f_type)) != fine.end();
}

File::Identity identity_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .modified_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim)};
}

Detail detail_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return Detail::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Detail::permission_denied;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      return Detail::resource_exhausted;
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
      return Detail::invalid_argument;
    default:
      return Detail::none;
  }
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Error not_regular(const std::string& path, mode_t mode) {
  const std::string inside =
      S_ISDIR(mode) ? fmt::format("; '{}{}*' names the files in it", path, path.ends_with('/') ? "" : "/") : "";
  return Error{Code::io, Detail::invalid_argument,
               fmt::format("cannot read '{}': it is {}, not a regular file{}", path, kind_of(mode), inside),
               Place{.file = path}};
}

}  // namespace

std::string_view shell_hint(std::string_view path) {
  const std::size_t brace = path.find('{');
  if (brace != std::string_view::npos && path.find(',', brace) < path.rfind('}'))
    return "; `{…,…}` is not expanded here: give a list of paths or patterns";
  if (path.starts_with('~') || path.find("/~") != std::string_view::npos)
    return "; `~` is not expanded here: give the path of the home folder";
  if (path.find('$') != std::string_view::npos) return "; `$…` is not expanded here: give the path in full";
  return {};
}

Error system_error(const std::string& doing, const std::string& path, int number) {
  constexpr std::string_view cure =
      "; raise `ulimit -n`, or have fewer files open at once: a lower `cycle`, fewer threads";
  return Error{Code::io, detail_of(number),
               fmt::format("cannot {} '{}': {}{}", doing, path, std::generic_category().message(number),
                           number == EMFILE   ? cure
                           : number == ENOENT ? shell_hint(path)
                                              : ""),
               Place{.file = path}};
}

Result<File::Identity> File::identity_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_error("inspect", path, errno);
  return identity_of(status);
}

Result<std::int64_t> file_size(const std::string& path) {
  FOREBAY_TRY(const File::Identity identity, File::identity_at(path));
  return identity.size;
}

Result<void> check_regular(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_error("open", path, errno);
  return S_ISREG(status.st_mode) ? Result<void>{} : not_regular(path, status.st_mode);
}

std::int64_t total_size(std::span<const std::string> paths) {
  std::int64_t total = 0;
  for (const std::string& path : paths) {
    if (const auto size = file_size(path); size.ok()) total += *size;
  }
  return total;
}

LastFolder::Name LastFolder::find(const std::string& path) {
  const Name whole{AT_FDCWD, path.c_str()};
  const std::size_t name = path.rfind('/') + 1;  // 0: no slash
  if (name < 2 || name == path.size()) return whole;
  if (path_.size() != name || path.compare(0, name, path_) != 0) {
    close();
    path_.assign(path, 0, name);
    return whole;
  }
  if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  return descriptor_ < 0 ? whole : Name{descriptor_, path.c_str() + name};
}

void LastFolder::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Result<File> File::open(const std::string& path, Links links) {
  return open_at({AT_FDCWD, path.c_str()}, path, links == Links::refuse ? O_NOFOLLOW : 0);
}

Result<File> File::open(const std::string& path, LastFolder& folder) { return open_at(folder.find(path), path, 0); }

Result<File> File::open_at(LastFolder::Name name, const std::string& path, int flags) {
  if (path.find('\0') != std::string::npos) {
    return Error{Code::io, Detail::invalid_argument, fmt::format("the path '{}' contains a NUL byte", path.c_str())};
  }
  File file;
  file.path_ = path;
  // O_NONBLOCK: opening a pipe must not wait for a writer. It has no effect on regular files.
  do {
    file.descriptor_ = ::openat(name.folder, name.name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
  } while (file.descriptor_ < 0 && errno == EINTR);
  if (file.descriptor_ < 0) return system_error("open", path, errno);
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) return system_error("inspect", path, errno);
  if (!S_ISREG(status.st_mode)) return not_regular(path, status.st_mode);
  file.identity_ = identity_of(status);
  return file;
}

File::File(File&& other) noexcept
    : RandomAccessFile{std::move(other)}, descriptor_{std::exchange(other.descriptor_, -1)} {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(identity_, other.identity_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::size_t> RandomAccessFile::read(std::span<std::byte> out, std::int64_t offset) const {
  std::size_t done = 0;
  while (done < out.size()) {
    FOREBAY_TRY(const std::size_t got, read_some(out.subspan(done), offset + static_cast<std::int64_t>(done)));
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::size_t File::read_cached(std::span<std::byte> out, std::int64_t offset) const {
  const iovec range{.iov_base = out.data(), .iov_len = out.size()};
  return static_cast<std::size_t>(std::max<ssize_t>(0, preadv2(descriptor_, &range, 1, offset, RWF_NOWAIT)));
}

void File::will_need(std::int64_t offset, std::size_t length) const {
  posix_fadvise(descriptor_, offset, static_cast<off_t>(length), POSIX_FADV_WILLNEED);
}

Result<std::size_t> File::read_some(std::span<std::byte> out, std::int64_t offset) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::int64_t at = offset + static_cast<std::int64_t>(done);
    const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done, at);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      if (done > 0) break;
      return system_error("read", path_, errno).at(Place{.offset = at});
    }
  }
  return done;
}

Result<void> File::unchanged() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return system_error("inspect", path_, errno);
  const Identity now = identity_of(status);
  if (now == identity_) return {};
  if (now.size == identity_.size && now.modified_ns == identity_.modified_ns) {
    const auto named = identity_at(path_);  // renaming and unlinking set the change time, too
    if (!named.ok() || !named->same_file(identity_)) return {};
  }
  return Error{Code::data, Detail::failed_precondition,
               fmt::format("'{}': file changed while it was read ({})", path_, difference(identity_, now)),
               Place{.file = path_}};
}

std::chrono::nanoseconds File::settles_in() const {
  const auto wait = clock_ticks_in(identity_);
  return wait.count() > 0 && has_fine_times(descriptor_) ? std::chrono::nanoseconds{0} : wait;
}

std::chrono::nanoseconds clock_ticks_in(const File::Identity& identity) {
  static const std::int64_t tick = clock_tick();
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  const std::int64_t age = nanoseconds(time) - identity.changed_ns;
  // A change time in the future was set by another clock, whose ticks are not known.
  return std::chrono::nanoseconds{age < -tick || age >= tick ? 0 : std::min(tick, tick - age)};
}

std::string difference(const File::Identity& before, const File::Identity& now) {
  if (before == now) return "";
  if (before.version != now.version) return "its ETag or generation is another one";
  if (!before.same_file(now)) return "another file has its name";
  if (before.size != now.size) return fmt::format("it had {} bytes, now {}", before.size, now.size);
  if (before.modified_ns != now.modified_ns) return "its modification time changed";
  return "its change time (ctime) changed: it was written to and its modification time put back, or its mode, owner "
         "or links were changed";
}

}  // namespace forebay::io
