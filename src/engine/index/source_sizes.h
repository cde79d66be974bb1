// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forebay/format.h>

namespace forebay::engine {

/// The sizes of the files of a run, as a state holds them; a restart compares them.
struct SourceSizes {
  std::int64_t files = 0;  ///< Files that exist.
  std::int64_t bytes = 0;  ///< Their total size.
  std::uint64_t digest =
      0;  ///< Digest of the sizes in the order of the files; a missing file counts as one without a size.
};

/// The summary of sizes by number of the file (unknown_size, missing_file; file_versions.h).
[[nodiscard]] SourceSizes summary(std::span<const std::int64_t> sizes);

/// Asks the file system for each size in `sizes` that is `unknown_size`, on several threads for a long list. A file
/// whose size cannot be read counts as missing; if that is a fault, reading the file reports it. The size of a part of
/// rows is their number, or 0 where it is not known.
void ask_sizes(const Source& source, std::span<std::int64_t> sizes);

/// Asks for the size of every file.
[[nodiscard]] std::vector<std::int64_t> ask_sizes(const Source& source);

}  // namespace forebay::engine
