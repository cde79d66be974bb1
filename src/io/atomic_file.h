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

/// A file that appears whole or not at all: written beside its place, renamed when complete.
/// The old file stays until then; without a commit no new file remains.
class AtomicFile {
 public:
  /// A symbolic link at `path` is written through, or replaced when links are refused.
  [[nodiscard]] static Result<AtomicFile> create(const std::string& path, Links links = Links::follow);

  /// Whether a path is that of a file that is being written, or of one whose writer was killed.
  [[nodiscard]] static bool unfinished(std::string_view path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Takes away what the file `like` does not permit to its group and to others.
  [[nodiscard]] Result<void> permit_no_more_than(const std::string& like);
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  /// Brings everything to disk and into place. Nothing may be written afterwards.
  [[nodiscard]] Result<void> commit();

 private:
  AtomicFile() = default;
  Result<void> flush();
  std::string path_;       ///< Where it will be, links followed.
  std::string temporary_;  ///< Empty when there is nothing to clean up.
  int descriptor_ = -1;
  std::vector<std::byte> pending_;
};

}  // namespace forebay::io
