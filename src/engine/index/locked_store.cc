// SPDX-License-Identifier: Apache-2.0
#include "engine/index/locked_store.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic_file.h"
#include "io/folder.h"
#include "io/paths.h"
#include "stores/registry.h"

namespace forebay::engine {
namespace {

constexpr int lock_tries = 200;
constexpr int lock_pause_ms = 10;
constexpr int max_replaced = 100;  // times that the path is replaced while the lock is awaited

/// Locks the store. A file system without locks is no fault: entries of several writers that mix have wrong checksums
/// and are made again.
Result<void> take_lock(int descriptor, const std::string& path) {
  for (int i = 0; ::flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) return {};
    if (errno != EWOULDBLOCK && errno != EINTR) return io::system_error("lock", path, errno);
    if (i == lock_tries)
      return Error{Code::io, Detail::permission_denied, "another process holds the lock of '" + path + "'"};
    ::poll(nullptr, 0, lock_pause_ms);
  }
  return {};
}

/// The permissions of a data file; those of a file of another machine are not known, and nobody else has any.
Result<mode_t> mode_of(const std::string& file) {
  struct stat data {};
  if (stores::file_system_of(file) != nullptr) return mode_t{0};
  if (::stat(file.c_str(), &data) != 0) return io::system_error("inspect", file, errno);
  return data.st_mode;
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

Result<LockedStore> LockedStore::open(const std::string& path, const std::string& file) {
  LockedStore out;
  out.path_ = path;
  const std::string folder = io::parent(path);
  FOREBAY_DO(mode_of(file));
  if (!is_folder(folder)) {
    // Beside the data, the folder gives the permissions of the data's folder; elsewhere it is for this user alone.
    if (io::base_name(folder) != io::store_folder) FOREBAY_DO(io::make_private_folder(io::parent(folder)));
    out.created_folder_ = ::mkdir(folder.c_str(), 0777) == 0;
    if (!out.created_folder_ && errno != EEXIST) return io::system_error("make the folder", folder, errno);
    if (!is_folder(folder)) return io::system_error("write", folder, ENOTDIR);
  }
  for (int i = 0; i < max_replaced; ++i) {
    FOREBAY_TRY(const bool opened, out.open_once(file));
    if (opened) return out;
  }
  return io::system_error("lock", path, EBUSY);
}

Result<bool> LockedStore::open_once(const std::string& file) {
  const int folder = ::open(io::parent(path_).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return io::system_error("open the folder", io::parent(path_), errno);
  const std::string name = io::base_name(path_);
  descriptor_ = ::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  const int number = errno;
  ::close(folder);
  if (descriptor_ < 0) return io::system_error("write", path_, number);
  FOREBAY_DO(take_lock(descriptor_, path_));
  struct stat own {};
  struct stat named {};
  if (::fstat(descriptor_, &own) != 0) return io::system_error("inspect", path_, errno);
  if (!S_ISREG(own.st_mode)) return io::system_error("write", path_, EINVAL);
  if (::lstat(path_.c_str(), &named) != 0 || own.st_dev != named.st_dev || own.st_ino != named.st_ino) {
    ::close(std::exchange(descriptor_, -1));
    return false;
  }
  size_ = own.st_size;
  FOREBAY_DO(narrow(file));
  return true;
}

/// Removes the permissions that the data file does not give: an index holds content of the file.
Result<void> LockedStore::narrow(const std::string& file) const {
  struct stat own {};
  if (::fstat(descriptor_, &own) != 0) return io::system_error("inspect", path_, errno);
  FOREBAY_TRY(const mode_t data, mode_of(file));
  const mode_t mode = own.st_mode & (data | 0700) & 0777;
  if (mode == (own.st_mode & 0777) || ::fchmod(descriptor_, mode) == 0) return {};
  return io::system_error("write", path_, errno);
}

LockedStore::LockedStore(LockedStore&& other) noexcept
    : path_{std::move(other.path_)},
      descriptor_{std::exchange(other.descriptor_, -1)},
      size_{other.size_},
      created_folder_{std::exchange(other.created_folder_, false)} {}

LockedStore::~LockedStore() {
  if (descriptor_ >= 0) {
    if (size_ == 0) ::unlink(path_.c_str());  // under the lock: a writer that waits for it opens the path anew
    ::close(descriptor_);
  }
  if (created_folder_) ::rmdir(io::parent(path_).c_str());  // fails unless it is empty
}

Result<void> LockedStore::write(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    } else if (errno != EINTR) {
      return io::system_error("write", path_, errno);
    }
  }
  return {};
}

Result<void> LockedStore::append(std::span<const std::span<const std::byte>> pieces) {
  std::int64_t bytes = 0;
  for (const auto piece : pieces) {
    if (auto written = write(piece); !written.ok()) {
      // No reader has used these bytes: they are no whole entry.
      if (::ftruncate(descriptor_, size_) != 0) return written.error().at("what was written of it is still there");
      return written;
    }
    bytes += std::ssize(piece);
  }
  size_ += bytes;
  return {};
}

void LockedStore::sweep() const {
  const std::string folder = io::parent(path_);
  const auto entries = io::list_folder(folder);
  if (!entries.ok()) return;
  for (const io::Entry& entry : *entries) {
    if (io::AtomicFile::unfinished(entry.name)) ::unlink((folder + "/" + entry.name).c_str());
  }
}

}  // namespace forebay::engine
