// SPDX-License-Identifier: Apache-2.0
#include "config/document.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/core.h>

namespace forebay {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_{number} {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  const int number_;
};

Place in_file(const std::string& path) {
  Place place;
  place.file = path;
  return place;
}

Error unreadable(const std::string& path, std::string_view what, int cause) {
  Detail detail = Detail::none;
  if (cause == ENOENT || cause == ENOTDIR) detail = Detail::not_found;
  if (cause == EACCES || cause == EPERM) detail = Detail::permission_denied;
  return Error{Code::io, detail, fmt::format("cannot read {}: {}", what, std::generic_category().message(cause)),
               in_file(path)};
}

/// Waits until the pipe has bytes or ends.
Result<void> wait_for_bytes(int pipe, const std::string& path, std::string_view what) {
  constexpr int longest_silence = 60'000;  // milliseconds
  pollfd wanted{.fd = pipe, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&wanted, 1, longest_silence);
  if (ready > 0) return {};
  if (ready < 0 && errno == EINTR) return Error{Code::cancelled, Detail::none, "interrupted", in_file(path)};
  return ready < 0 ? unreadable(path, what, errno)
                   : Error{Code::io, Detail::none,
                           fmt::format("cannot read {}: the pipe gave nothing for 60 seconds", what), in_file(path)};
}

Result<std::string> read_all(int file, const std::string& path, std::string_view what) {
  std::string text;
  char piece[1 << 16];
  while (text.size() <= max_document_bytes) {
    const ssize_t count = ::read(file, piece, sizeof(piece));
    if (count == 0) break;
    if (count > 0) {
      text.append(piece, static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      FOREBAY_DO(wait_for_bytes(file, path, what));
    } else if (errno != EINTR) {
      return unreadable(path, what, errno);
    }
  }
  return text;
}

Result<std::string> read_file(const std::string& path, std::string_view what) {
  if (path.find('\0') != std::string::npos) return unreadable(path, what, ENOENT);
  // Non-blocking: opening a pipe must not wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number() < 0) return unreadable(path, what, errno);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return unreadable(path, what, errno);
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    const char* why = S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a file or a pipe";
    return Error{Code::io, Detail::invalid_argument, fmt::format("cannot read {}: {}", what, why), in_file(path)};
  }
  return read_all(file.number(), path, what);
}

}  // namespace

Result<Json> read_document(const std::string& path, std::string_view what) {
  FOREBAY_TRY(const std::string text, read_file(path, what));
  FOREBAY_TRY(Json json, parse_json(text, path));
  if (!json.is(Json::Kind::object)) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("a document must be an object at its top level, found {}", json.kind_name()),
                 json.place()};
  }
  return json;
}

std::string document_folder(const std::string& path) {
  if (path.starts_with("/dev/") || path.starts_with("/proc/")) return {};
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string{} : path.substr(0, std::max<std::size_t>(slash, 1));
}

}  // namespace forebay
