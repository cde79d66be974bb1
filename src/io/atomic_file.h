// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
///                  └─ destroyed without a commit: removed; an old file at `path` stays as it is
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
  [[nodiscard]] const std::string& temporary() const { return temporary_; }  ///< Its path, before `commit`.
  /// Writes everything to the disk and renames the file to `path`. Nothing may be written afterwards.
  [[nodiscard]] Result<void> commit();

 private:
  AtomicFile() = default;
  std::string path_;       ///< Path after the commit, links followed.
  std::string temporary_;  ///< Empty when there is nothing to clean up.
  int descriptor_ = -1;
  std::vector<std::byte> pending_;
};

}  // namespace forebay::io
