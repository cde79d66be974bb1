// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace forebay::engine {

/// The name and the size of one file of a run.
struct FileSize {
  static constexpr std::int64_t missing = -1;
  std::string name;             ///< Without its folder.
  std::int64_t size = missing;  ///< In bytes.
  bool operator==(const FileSize&) const = default;
  auto operator<=>(const FileSize&) const = default;
};

/// What is known of a group of files: enough to find one that changed.
struct FileGroup {
  std::int64_t files = 0;
  std::int64_t bytes = 0;    ///< A missing file counts as -1.
  std::uint64_t digest = 0;  ///< The sum of the digests of the files.
  bool operator==(const FileGroup&) const = default;
};

/// The files of a run when it began, in at most about a kilobyte; a restart compares them (docs/adr/0018).
struct SourceSizes {
  static constexpr std::size_t groups_of_files = 16;
  std::int64_t files = 0;         ///< Files that exist.
  std::int64_t bytes = 0;         ///< Their total size.
  std::uint64_t digest = 0;       ///< Of the names and sizes, in the order of the files.
  std::vector<FileSize> each;     ///< Every file, when their names are few and short; else empty.
  std::vector<FileGroup> groups;  ///< `groups_of_files` groups by the hash of the name, when `each` is empty.
  bool operator==(const SourceSizes&) const = default;
};

/// Reads the size of every file once. A file whose size cannot be read counts as missing; if that is a fault, reading
/// the file reports it.
[[nodiscard]] SourceSizes inspect(std::span<const std::string> files);

/// Which files came, went or changed since `then`, in words: at most 8 of them. Reads the sizes again. Of more files
/// than `each` holds, one change of each group is found, and a file that went has no name.
[[nodiscard]] std::string changes_since(const SourceSizes& then, std::span<const std::string> files);

}  // namespace forebay::engine
