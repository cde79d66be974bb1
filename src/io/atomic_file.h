// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>

#include "io/file.h"

namespace forebay::io {

/// A file that appears whole or not at all.
///
///     create ─► temporary file in the same folder ─► write … ─► commit: fsync, rename to `path`
///                  │                                     └─► publish: the same, and more may be written
///                  └─ destroyed without a commit: removed; an old file at `path` stays as it is. After `publish`, the
///                     file is cut to what was published.
///
/// Its owner calls it from one thread at a time. Fails with Code::io.
class AtomicFile {
 public:
  /// Creates the temporary file, with the permissions of an old file at `path`. With Links::follow, a symbolic link at
  /// `path` stays and its target is replaced; with Links::refuse, the link is replaced. Fails when `path` is no regular
  /// file.
  [[nodiscard]] static Result<AtomicFile> create(const std::string& path, Links links = Links::follow);

  /// Whether a path has the name of a temporary file: one that is being written, or one whose writer was killed.
  [[nodiscard]] static bool unfinished(std::string_view path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Removes the permissions of group and others that the file `like` does not give.
  [[nodiscard]] Result<void> permit_no_more_than(const std::string& like);
  /// Appends bytes. They are written to the file in pieces of about 256 KiB.
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  /// Writes the bytes that are still in memory to the temporary file, which may then be read.
  [[nodiscard]] Result<void> flush();
  /// Its present path, before `commit`.
  [[nodiscard]] const std::string& temporary() const { return temporary_.empty() ? path_ : temporary_; }
  /// Writes everything to the disk and renames the file to `path`, unless it has that name already.
  [[nodiscard]] Result<void> publish();
  /// The same; nothing may be written afterwards.
  [[nodiscard]] Result<void> commit();

 private:
  AtomicFile() = default;
  std::string path_;       ///< Path after the commit, links followed.
  std::string temporary_;  ///< Empty when there is nothing to clean up.
  int descriptor_ = -1;
  std::int64_t written_ = 0;
  std::optional<std::int64_t> published_;  ///< Bytes at `path_` that stay.
  std::vector<std::byte> pending_;
};

}  // namespace forebay::io
