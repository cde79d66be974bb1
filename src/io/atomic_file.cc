// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/paths.h"

namespace forebay::io {
namespace {

constexpr std::string_view begin_of_name = ".forebay-";
constexpr std::string_view end_of_name = ".tmp";
constexpr std::size_t max_pending = 256 * 1024;
constexpr int max_tries = 10'000;

std::string folder_of(const std::string& path) {
  std::string folder = parent(path);
  return folder.empty() ? std::string{"."} : folder;
}

/// Returns the target of a symbolic link, so that the rename does not replace the link. Other paths are returned as
/// they are.
std::string follow(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out{real};
  ::free(real);  // NOLINT: realpath's memory
  return out;
}

}  // namespace

bool AtomicFile::unfinished(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with(begin_of_name) && name.ends_with(end_of_name);
}

Result<AtomicFile> AtomicFile::create(const std::string& path, Links links) {
  AtomicFile file;
  file.path_ = links == Links::follow ? follow(path) : path;
  struct stat old {};
  const bool exists = ::lstat(file.path_.c_str(), &old) == 0 && !S_ISLNK(old.st_mode);
  if (exists && !S_ISREG(old.st_mode)) {
    return Error{Code::io, Detail::invalid_argument,
                 fmt::format("cannot write '{}': it exists and is not a regular file", path), Place{.file = path}};
  }
  for (int attempt = 0; file.descriptor_ < 0; ++attempt) {
    std::string name =
        fmt::format("{}/{}{}-{}{}", folder_of(file.path_), begin_of_name, ::getpid(), attempt, end_of_name);
    file.descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor_ >= 0) {
      file.temporary_ = std::move(name);
    } else if ((errno != EEXIST && errno != EINTR) || attempt == max_tries) {
      return system_error("write", path, errno);
    }
  }
  if (exists && ::fchmod(file.descriptor_, old.st_mode & 07777) != 0) return system_error("write", path, errno);
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_{std::move(other.path_)},
      temporary_{std::exchange(other.temporary_, {})},
      descriptor_{std::exchange(other.descriptor_, -1)},
      written_{other.written_},
      published_{other.published_},
      pending_{std::move(other.pending_)} {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0 && published_ && *published_ < written_ && ::ftruncate(descriptor_, *published_) != 0)
    pending_.clear();  // the bytes of an unfinished record stay; readers tell of them
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> AtomicFile::permit_no_more_than(const std::string& like) {
  struct stat own {};
  struct stat other {};
  if (::stat(like.c_str(), &other) != 0) return system_error("inspect", like, errno);
  if (::fstat(descriptor_, &own) != 0) return system_error("inspect", path_, errno);
  if (::fchmod(descriptor_, own.st_mode & (other.st_mode | 0700) & 0777) != 0)
    return system_error("write", path_, errno);
  return {};
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  return pending_.size() < max_pending ? Result<void>{} : flush();
}

Result<void> AtomicFile::flush() {
  std::span<const std::byte> left{pending_};
  while (!left.empty()) {
    const ssize_t done = ::write(descriptor_, left.data(), left.size());
    if (done >= 0) {
      left = left.subspan(static_cast<std::size_t>(done));
      written_ += done;
    } else if (errno != EINTR) {
      return system_error("write", path_, errno);
    }
  }
  pending_.clear();
  return {};
}

Result<void> AtomicFile::publish() {
  FOREBAY_DO(flush());
  if (::fsync(descriptor_) != 0) return system_error("write", path_, errno);
  published_ = written_;
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return system_error("write", path_, errno);
  temporary_.clear();
  // The folder holds the new name, so it is synced, too. If that fails, the file is still right.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

Result<void> AtomicFile::commit() {
  FOREBAY_DO(publish());
  if (::close(std::exchange(descriptor_, -1)) != 0) return system_error("write", path_, errno);
  return {};
}

}  // namespace forebay::io
