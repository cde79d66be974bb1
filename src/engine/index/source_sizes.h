// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/format.h>

#include "engine/program/program.h"

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
  std::uint32_t digest = 0;  ///< The sum of the digests of the files, its lower half.
  bool operator==(const FileGroup&) const = default;
};

/// The versions of the files of stores when a run found them.
struct StoredVersions {
  static constexpr std::size_t groups_of_files = 16;
  std::uint64_t where = 0;                              ///< Hash of the paths.
  std::array<std::uint32_t, groups_of_files> groups{};  ///< Sums of hashes, by the number of the file.
  bool operator==(const StoredVersions&) const = default;
};

/// The files of a run when it opened them, in at most about a kilobyte; a restart compares them (docs/adr/0018).
struct SourceSizes {
  static constexpr std::size_t groups_of_files = 16;
  std::int64_t files = 0;         ///< Files that exist.
  std::int64_t bytes = 0;         ///< Their total size.
  std::uint64_t digest = 0;       ///< Of the names and sizes, in the order of the files.
  std::vector<FileSize> each;     ///< Every file, when their names are few and short; else empty.
  std::vector<FileGroup> groups;  ///< `groups_of_files` groups by the hash of the name, when `each` is empty.
  std::optional<StoredVersions> versions = {};  ///< Empty: no file is of a store, or one of them tells no version.
  bool operator==(const SourceSizes&) const = default;
};

/// The summary of files and their sizes by number (missing_file; file_versions.h), with the versions that are known of
/// those of stores.
[[nodiscard]] SourceSizes summary(std::span<const std::string> files, std::span<const std::int64_t> sizes,
                                  const std::shared_ptr<KnownVersions>& known = {});

/// Which files were replaced since `then` by others of the same size, in words; empty: none, or `then` tells of other
/// places: a copy may have other versions.
[[nodiscard]] std::string replaced_since(const SourceSizes& then, const SourceSizes& now,
                                         std::span<const std::string> files);

/// The files that came, went or changed since `then`, in words: at most 8 of them. Of more files than `each` holds, one
/// change of each group is found, and a file that went has no name.
[[nodiscard]] std::string changes_since(const SourceSizes& then, std::span<const std::string> files,
                                        std::span<const std::int64_t> sizes);

/// Asks the file system for each size in `sizes` that is `unknown_size`, on several threads for a long list. A file
/// whose size cannot be read counts as missing; if that is a fault, reading the file reports it. The size of a part of
/// rows is their number, or 0 where it is not known.
void ask_sizes(const Source& source, std::span<std::int64_t> sizes, const std::shared_ptr<KnownVersions>& known = {});

/// The files that a program reads: of all its branches, and of the plan whose rows are its source.
[[nodiscard]] std::vector<std::string> data_files(const Program& program);

/// The same for the files of a program (data_files).
void ask_sizes(const Program& program, std::span<std::int64_t> sizes);

/// Asks for the size of every file.
[[nodiscard]] std::vector<std::int64_t> ask_sizes(const Source& source);
[[nodiscard]] std::vector<std::int64_t> ask_sizes(const Program& program);

}  // namespace forebay::engine
