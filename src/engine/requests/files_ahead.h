// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/requests/asked_files.h"
#include "engine/requests/requests.h"
#include "io/file_system.h"

namespace forebay::engine {

/// Whole files of a FileSystem that are asked for before they are read, in the order in which they are read.
///
///     ask ─► version ─► bytes, where the share has room ─► bytes_ready ─► pop
///
/// Where versions are not known and the files before were small, one request asks for the version and for as many bytes
/// as a file is likely to have.
///
/// One thread at a time calls; the owner says which.
class FilesAhead {
 public:
  /// `asked`: those that were asked for before; null: none was.
  explicit FilesAhead(std::shared_ptr<Requests> requests, std::shared_ptr<AskedFiles> asked = {})
      : requests_{std::move(requests)}, asked_{std::move(asked)}, share_{requests_->window()} {}
  ~FilesAhead();

  [[nodiscard]] bool has_room() const { return files_.size() < max_files; }  ///< `ask` may be called.
  void ask(std::uint32_t number, FileSystem& system, const std::string& path);
  [[nodiscard]] bool empty() const { return files_.empty(); }
  [[nodiscard]] std::uint32_t first() const { return files_.front().number; }
  [[nodiscard]] std::uint32_t last() const { return files_.back().number; }
  void clear();
  /// The order reads these files now: the first one always gets its bytes.
  void need() { share_.need(); }

  /// Asks for the bytes of files whose versions have come, up to one that has more than `max` bytes.
  void advance(std::int64_t max);
  /// Whether the first file gets on: its version or its bytes have come, or these may be asked for.
  [[nodiscard]] bool ready() const;

  // These four are about the first file.
  [[nodiscard]] const Request& version() const { return *files_.front().version; }
  [[nodiscard]] bool bytes_ready() const;  ///< After its version has come without an error.
  /// The bytes, all of them; the error of the store otherwise.
  [[nodiscard]] Result<std::span<const std::byte>> bytes() const;
  /// The bytes that have come of this file and of those right behind it: whole files, at most `max` bytes.
  [[nodiscard]] std::int64_t bytes_there(std::int64_t max) const;
  void pop();

 private:
  static constexpr std::size_t max_files = 64;

  struct File {
    std::uint32_t number;
    FileSystem* system;
    std::string path;
    std::shared_ptr<Request> version;
    std::shared_ptr<Request> bytes = nullptr;  // null: not asked for, or the file has none, or `version` has them
    std::int64_t held = 0;                     // bytes that `share_` holds
  };
  [[nodiscard]] std::int64_t likely_bytes();
  void let_go_of_others();
  [[nodiscard]] static bool has_bytes(const File& file) {
    return file.version->ready() && !file.version->error() && file.version->version().size > 0;
  }
  /// The request that has all bytes, or will have them. Null: none, or the version has not come.
  [[nodiscard]] static const Request* whole(const File& file) {
    if (file.bytes) return file.bytes.get();
    const bool all = has_bytes(file) && std::ssize(file.version->bytes()) == file.version->version().size;
    return all ? file.version.get() : nullptr;
  }

  const std::shared_ptr<Requests> requests_;
  const std::shared_ptr<AskedFiles> asked_;
  RequestWindow::Share share_;
  std::deque<File> files_;
};

}  // namespace forebay::engine
